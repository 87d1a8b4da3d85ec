-- promise: where a change request stands.
create or replace function workflow.change_report(p_change_request_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object('change_request_id', c.change_request_id, 'workflow', c.workflow, 'base_version', c.base_version, 'state', c.proposal_state,
                            'revision_no', r.revision_no, 'definition_sha256', encode(r.definition_sha256, 'hex'), 'approval_id', c.approval_id,
                            'merged_version', (select v.version from workflow.workflow_version v where v.workflow_def_id = c.merged_def_id), 'proposer', c.started_by, 'title', c.title)
    from workflow.workflow_change_requests c,
         lateral (select r.revision_no, r.definition_sha256 from workflow.change_revision r where r.change_request_id = c.change_request_id order by r.revision_no desc limit 1) r
   where c.change_request_id = p_change_request_id
$$;
