-- promise: the birth of the permit's code stays as it is: the registry only grows.
create or replace function birth.lock_birth_row(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
begin
  perform from birth.birth_registry b where b.permit_id = p_run_id for share;
end
$$;
