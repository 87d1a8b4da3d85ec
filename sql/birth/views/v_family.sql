create or replace view birth.v_family with (security_barrier) as
select f.collection_name, f.relation, (select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = f.relation) as table_name, f.code_column::text, f.name_column::text, f.code_rule, f.ttl_seconds, f.enforced_from,
       f.approval_required, f.governance_role, f.active, f.declared_by, f.declared_at,
       case when not f.active then 'released'
            when exists (select from birth.break_glass g where g.collection_name = f.collection_name and g.expires_at > internal.now()) then 'glass_broken'
            when f.enforced_from <= internal.now() then 'enforced' else 'report_only' end as mode,
       -- Five triggers, ours, as we made them (when and on what they fire), always on, on the table and on every partition.
       f.active and not exists (
         select from (select f.relation as relid union select l.relid::oid from pg_partition_tree(f.relation::regclass) l) l
          where array(select concat_ws(' ', t.tgname, t.tgtype, t.tgnargs, t.tgdeferrable, t.tginitdeferred, t.tgqual is not null, t.tgattr) from pg_trigger t
                       where t.tgrelid = l.relid and t.tgenabled = 'A' and t.tgfoid = to_regproc('birth.family_' || f.family_no)::oid order by t.tgname)
                is distinct from array['aaa_chancery_birth_born 5 0 f f f ', 'aaa_chancery_birth_code 17 0 f f t ', 'aaa_chancery_birth_left 9 0 f f f ',
                                       'chancery_birth_finalize 5 1 t t f ', 'zzz_chancery_birth_gate 7 0 f f f '])
       -- A table that inherits from it has none of its triggers, and its rows are read as if they were born in it.
       and not exists (select from pg_inherits h join pg_class c on c.oid = h.inhrelid where h.inhparent = f.relation and not c.relispartition) as armed,
       array(with recursive heir (oid) as (
               select h.inhrelid from pg_inherits h join pg_class c on c.oid = h.inhrelid where h.inhparent = f.relation and not c.relispartition
               union
               select h.inhrelid from heir join pg_inherits h on h.inhparent = heir.oid)
             select heir.oid::regclass::text from heir order by 1) as heirs,
       -- Partitions that came with rows, which met no gate, and that nobody accepted.
       array(select p.relation::regclass::text from birth.family_part p
              where p.collection_name = f.collection_name and p.came_with_rows and f.active
                and p.relation in (select l.relid from pg_partition_tree(f.relation::regclass) l) order by 1) as came_with_rows
  from birth.family f;
comment on view birth.v_family is 'Tables under admission, how each is enforced, and whether its triggers are in place.';
