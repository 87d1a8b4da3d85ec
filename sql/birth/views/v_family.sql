create or replace view birth.v_family with (security_barrier) as
select f.collection_name, f.relation, (select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = f.relation) as table_name, f.code_column::text, f.name_column::text, f.code_rule, f.ttl_seconds, f.enforced_from,
       f.approval_required, f.governance_role, f.active, f.declared_by, f.declared_at,
       case when not f.active then 'released'
            when exists (select from birth.break_glass g where g.collection_name = f.collection_name and g.expires_at > internal.now()) then 'glass_broken'
            when f.enforced_from <= internal.now() then 'enforced' else 'report_only' end as mode,
       -- Five triggers, ours, always on, on the table and on every partition.
       f.active and (select count(*) = 5 from pg_trigger t
                      where t.tgrelid = f.relation and t.tgenabled = 'A' and t.tgfoid = to_regproc('birth.family_' || f.family_no)::oid)
         and not exists (
           select from pg_partition_tree(f.relation::regclass) l
            where l.level > 0 and (select count(*) from pg_trigger t where t.tgrelid = l.relid and t.tgenabled = 'A'
                                      and t.tgfoid = to_regproc('birth.family_' || f.family_no)::oid) <> 5) as armed
  from birth.family f;
comment on view birth.v_family is 'Tables under admission, how each is enforced, and whether its triggers are in place.';
