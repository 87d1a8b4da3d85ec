-- promise: where a proposal of either kind stands.
create or replace function workflow.proposal_report(p_run_kind text, p_run_id uuid) returns jsonb
language sql stable
as $$
  select case p_run_kind when 'workflow_change' then workflow.change_report(p_run_id) else (
    select jsonb_build_object('proposal_id', p.proposal_id, 'kind', p.proposal_kind, 'state', p.proposal_state, 'title', p.title, 'proposer', p.started_by,
                              'action_sha256', encode(p.action_sha256, 'hex'), 'approval_id', p.approval_id, 'outcome', p.outcome)
      from governance.proposal p where p.proposal_id = p_run_id) end
$$;
