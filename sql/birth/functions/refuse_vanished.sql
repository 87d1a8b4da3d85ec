-- promise: what was born by a permit in this transaction is still there at its end. One that left before it was born (it was replaced) or
--          came back (it was moved) is; where no permit was asked for, a row may come and go as ever.
-- callers: the constraint trigger of the departures. There, and not at the insert: who made the insert's constraints immediate would
--          otherwise be free to delete afterwards.
-- refuses with: RB005
create or replace function birth.refuse_vanished() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
       select from birth.birth_registry b
        where b.entity_code = new.entity_code and b.collection_name = new.collection_name and b.xid = pg_current_xact_id() and b.admission = 'permit'
          and b.born_at <= new.left_at)
     and exists (select from birth.departure d where d.departure_id = new.departure_id and not d.returned) then
    perform internal.refuse(internal.problem('RB005', jsonb_build_object('collection', new.collection_name, 'entity_code', new.entity_code)));
  end if;
  return null;
end
$$;
