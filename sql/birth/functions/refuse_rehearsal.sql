-- promise: a transaction that rehearsed a birth is not committed.
-- refuses with: RB013
create or replace function birth.refuse_rehearsal() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform internal.refuse(internal.problem('RB013', jsonb_build_object('collection', new.collection_name, 'entity_code', new.entity_code)));
  return null;
end
$$;
