-- promise: the approval that the evidence names is for exactly this, and is used for this call and no other.
-- refuses with: RA002, RA003, RA006
create or replace function workflow.use_approval(p_work workflow.work, p_kind text, p_evidence jsonb, p_idempotency_key text, p_principal text) returns void
language plpgsql
as $$
declare
  v_approval_id constant uuid := internal.uuid_or_null(p_evidence ->> 'approval_id');
begin
  if v_approval_id is null then
    perform internal.refuse(internal.problem('RA002', jsonb_build_object('approval_id', p_evidence -> 'approval_id')));
  end if;
  perform approval.consume(v_approval_id, p_kind, p_work.run_id::text, null, p_work.run_kind, p_work.run_id || '/' || p_idempotency_key, p_principal);
end
$$;
