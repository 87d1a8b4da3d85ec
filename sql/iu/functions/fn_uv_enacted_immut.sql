-- promise: an enacted text never changes again.
-- refuses with: RI027
create or replace function iu.fn_uv_enacted_immut() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if old.lifecycle_status <> 'draft' then
    perform internal.refuse(internal.problem('RI027', jsonb_build_object(
      'unit_version_id', old.id, 'lifecycle_status', old.lifecycle_status)));
  end if;
  return new;
end
$$;
