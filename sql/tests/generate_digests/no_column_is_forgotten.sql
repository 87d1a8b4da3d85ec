-- claim: a stamp covers every column of its table but those that may change.
-- Every table of evidence has a stamp, armed, that names every column but its own and those that may change.
select t.equal(string_agg(e.table_name || '.' || a.attname, ', '), null)
  from audit.evidence_def e
  join pg_attribute a on a.attrelid = e.table_name::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> 'row_digest'
  join pg_proc p on p.pronamespace = 'audit'::regnamespace and p.proname = 'stamp_' || replace(e.table_name, '.', '_')
 where (p.prosrc ~ ('new\.' || a.attname || '\M')) = (a.attname = any (e.mutable_columns));
select t.equal(string_agg(e.table_name, ', '), null)
  from audit.evidence_def e
 where not exists (select from pg_trigger t where t.tgrelid = e.table_name::regclass and t.tgname = 'zz_stamps_its_digest' and t.tgenabled = 'A');
-- Every table that has a digest is a table of evidence.
select t.equal(string_agg(a.attrelid::regclass::text, ', '), null)
  from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
 where a.attname = 'row_digest' and not exists (select from audit.evidence_def e where e.table_name::regclass = a.attrelid);
