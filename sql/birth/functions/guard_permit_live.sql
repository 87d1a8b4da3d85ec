-- owner: chancery_guard
-- promise: true when the permit is for a family that is protected, and its time has not run out.
create or replace function birth.guard_permit_live(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from birth.birth_admission_permit p join birth.family f using (collection_name)
     where p.permit_id = (p_context #>> '{run,id}')::uuid and f.active and p.expires_at > internal.now())
$$;
