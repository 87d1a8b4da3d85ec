-- promise: the digest of what a proposal says now.
create or replace function workflow.proposal_digest(p_run_kind text, p_run_id uuid) returns bytea
language sql stable
as $$
  select case p_run_kind
    when 'workflow_change' then (select r.definition_sha256 from workflow.change_revision r where r.change_request_id = p_run_id order by r.revision_no desc limit 1)
    when 'proposal' then (select p.action_sha256 from governance.proposal p where p.proposal_id = p_run_id) end
$$;
