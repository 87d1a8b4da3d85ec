-- promise: an enacted or retired unit never changes again.
-- refuses with: RI027
create or replace function iu.fn_iu_enacted_immut() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if old.lifecycle_status <> 'draft' then
    perform internal.refuse(internal.problem('RI027', jsonb_build_object(
      'address', old.canonical_address, 'lifecycle_status', old.lifecycle_status)));
  end if;
  return new;
end
$$;
