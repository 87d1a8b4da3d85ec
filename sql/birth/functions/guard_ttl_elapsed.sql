-- owner: chancery_guard
-- promise: true when the time of the permit has run out.
create or replace function birth.guard_ttl_elapsed(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from birth.birth_admission_permit p where p.permit_id = (p_context #>> '{run,id}')::uuid and p.expires_at <= internal.now())
$$;
