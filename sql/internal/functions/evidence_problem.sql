-- promise: the first way in which the tables of evidence and the lists that pin their digests disagree, or null: a column that no digest
--          covers and nobody declared mutable, a list that names a column that is not there, a column that old rows cannot leave empty.
--          The log is looked at as well: its version is the default of hash_version.
-- callers: internal.generate_digests
create or replace function internal.evidence_problem() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$
  with declared as (
    select e.table_name, e.mutable_columns, array['digest_version', 'row_digest'] as own,
           (select max(v.version) from audit.evidence_version v where v.table_name = e.table_name) as newest
      from audit.evidence_def e
    union all
    select 'fsm.transition_log', '{}', array['hash_version', 'hash'],
           (select substring(pg_get_expr(d.adbin, d.adrelid) from '[0-9]+')::smallint from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
             where d.adrelid = 'fsm.transition_log'::regclass and a.attname = 'hash_version')
  ), columns as (
    select d.table_name, d.newest, a.attname::text as name, a.attname = any (d.own) as is_own, a.attname = any (d.mutable_columns) as is_mutable,
           a.attnotnull or a.atthasmissing as has_value_in_old_rows
      from declared d join pg_attribute a on a.attrelid = to_regclass(d.table_name) and a.attnum > 0 and not a.attisdropped
  ), pinned as (
    select v.table_name, v.version, p.name from audit.evidence_version v cross join lateral unnest(v.columns) p (name)
  ), problems as (
    select 1 as kind, d.table_name as subject, format('%s is evidence and does not exist', d.table_name) as problem
      from declared d where to_regclass(d.table_name) is null
    union all
    select 2, d.table_name, format('%s is evidence and audit.evidence_version has no list for the version of its new rows', d.table_name)
      from declared d
     where not exists (select from audit.evidence_version v where v.table_name = d.table_name and v.version = d.newest)
    union all
    select 3, v.table_name, format('audit.evidence_version has a list for %s, which is no table of evidence', v.table_name)
      from audit.evidence_version v where not exists (select from declared d where d.table_name = v.table_name)
    union all
    select 4, d.table_name, format('%s has no column %s, which every table of evidence has', d.table_name, o.name)
      from declared d cross join lateral unnest(d.own) o (name)
     where to_regclass(d.table_name) is not null
       and not exists (select from columns c where c.table_name = d.table_name and c.name = o.name)
    union all
    select 5, c.table_name, format('%s.%s is in no digest: add a version to audit.evidence_version, or declare it mutable', c.table_name, c.name)
      from columns c
     where not c.is_own and not c.is_mutable
       and not exists (select from pinned p where p.table_name = c.table_name and p.version = c.newest and p.name = c.name)
    union all
    select 6, p.table_name, format('version %s of the digests of %s is over %s, which is no column of the table', p.version, p.table_name, p.name)
      from pinned p
     where not exists (select from columns c where c.table_name = p.table_name and c.name = p.name and not c.is_own)
    union all
    select 7, p.table_name, format('version %s of the digests of %s is over %s, which is declared mutable', p.version, p.table_name, p.name)
      from pinned p
     where exists (select from columns c where c.table_name = p.table_name and c.name = p.name and c.is_mutable)
    union all
    select 8, p.table_name, format('version %s of the digests of %s names %s twice', p.version, p.table_name, p.name)
      from pinned p group by p.table_name, p.version, p.name having count(*) > 1
    union all
    select 9, c.table_name, format('%s.%s was added after version %s: rows of that version must be able to leave it null, so it is nullable and was added without a default',
                                   c.table_name, c.name, v.version)
      from columns c join audit.evidence_version v using (table_name)
     where c.has_value_in_old_rows and not c.is_own and not c.is_mutable
       and not exists (select from pinned p where p.table_name = c.table_name and p.version = v.version and p.name = c.name)
  )
  select p.problem from problems p order by p.kind, p.subject, p.problem limit 1
$$;
