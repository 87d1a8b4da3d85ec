-- promise: no request waits for itself, not by any detour. Holds for whoever inserts the edge.
-- refuses with: RC003
create or replace function cutter_governance.refuse_dependency_cycle() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_path uuid[];
begin
  with recursive way (entry_id, path) as (
    select new.to_entry_id, array[new.from_entry_id, new.to_entry_id]
    union all
    select d.to_entry_id, way.path || d.to_entry_id
      from way join cutter_governance.decision_backlog_dependency d on d.from_entry_id = way.entry_id
     where way.entry_id <> new.from_entry_id and d.to_entry_id <> all (way.path[2:])
  )
  select way.path into v_path from way where way.entry_id = new.from_entry_id limit 1;
  if v_path is not null then
    perform internal.refuse(internal.problem('RC003', jsonb_build_object('cycle', to_jsonb(v_path))));
  end if;
  return new;
end
$$;
