-- promise: the wait is over, with the proof. One that is over stays as it was resolved first.
create or replace function workflow.resolve_wait(p_wait_id uuid, p_proof jsonb, p_principal text) returns boolean
language plpgsql
as $$
begin
  update workflow.wait w set resolved_at = internal.now(), resolved_by = p_principal, proof = internal.canonical_json(p_proof)
   where w.wait_id = p_wait_id and w.resolved_at is null;
  return found;
end
$$;
