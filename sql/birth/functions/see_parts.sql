-- promise: every partition of the family is known, and of each whether it came with rows that met no gate: it was a table of its own before it (or
--          what it is a part of) became a partition, and it was not empty when it was first seen. The catalogue tells: a table that was there before
--          has a column of the system (which nobody changes) from an earlier transaction than its place in the tree; and where all of it was one
--          transaction, ATTACH changed its columns in the command that gave it this place. What is made as a partition has neither.
-- callers: birth.fn_permit_watchdog
create or replace function birth.see_parts(p_collection text) returns void
language plpgsql
as $$
declare
  v_relation oid := (select f.relation from birth.family f where f.collection_name = p_collection);
begin
  insert into birth.family_part (collection_name, relation, seen_at, came_with_rows)
  select p_collection, l.relid, internal.now(), pg_relation_size(l.relid) > 0 and exists (
           select from pg_partition_ancestors(l.relid) u
             join pg_inherits i on i.inhrelid = u.relid
             join pg_attribute s on s.attrelid = u.relid and s.attnum = -1
            where i.xmin <> s.xmin
               or exists (select from pg_attribute a where a.attrelid = u.relid and a.attnum > 0 and a.xmin = i.xmin and a.cmin = i.cmin))
    from pg_partition_tree(v_relation::regclass) l
   where l.isleaf and l.relid <> v_relation
     and not exists (select from birth.family_part p where p.collection_name = p_collection and p.relation = l.relid)
  on conflict do nothing;
end
$$;
