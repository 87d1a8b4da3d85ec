-- owner: chancery_guard
-- promise: true when the BORN row for exactly the permit's collection and code exists.
create or replace function birth.guard_born_row(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from birth.birth_admission_permit p join birth.birth_registry b
      on b.permit_id = p.permit_id and b.collection_name = p.collection_name and b.entity_code = p.entity_code
     where p.permit_id = (p_context #>> '{run,id}')::uuid)
$$;
