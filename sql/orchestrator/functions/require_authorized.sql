-- promise: the sovereign authorized exactly this gate of this run, and the approval is used for it.
-- locks: the approval (its turn)
-- refuses with: RO004 naming the field, RA002, RA003, RA006
create or replace function orchestrator.require_authorized(p_run orchestrator.run, p_gate text, p_evidence jsonb, p_principal text) returns void
language plpgsql
as $$
declare
  v_approval_id uuid := internal.uuid_or_null(p_evidence ->> 'approval_id');
  v_problems jsonb;
begin
  perform orchestrator.lock_approval('orchestrator_run', p_run.run_id);
  v_problems := orchestrator.authorization_problems(p_run.run_id, p_gate, v_approval_id, p_evidence ->> 'approval_kb_id');
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
  perform approval.consume(
    v_approval_id, orchestrator.approval_kind(p_gate), p_run.run_name,
    (select sha256(convert_to(q.facts, 'UTF8')) from approval.approval_request q where q.approval_id = v_approval_id),
    'orchestrator_run', p_run.run_name || '/' || p_gate, p_principal);
end
$$;
