-- promise: what a change request changes, by meaning: steps and relations added, removed and changed, each changed one field by field, and
--          how many runs stay on the version it was written against. With a reader, without the steps that the reader may not see.
-- callers: workflow.fn_workflow_change_diff, workflow.fn_change_diff_seen
-- refuses with: RW001
create or replace function workflow.change_diff(p_change_request_id uuid, p_reader text) returns jsonb
language plpgsql stable
as $$
declare
  v_change record;
  v_old jsonb;
  v_new jsonb;
begin
  select c.workflow, c.base_version, c.proposal_state into v_change from workflow.workflow_change_requests c where c.change_request_id = p_change_request_id;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_change', 'id', p_change_request_id)));
  end if;
  select v.definition::jsonb into v_old from workflow.workflow_version v where v.workflow = v_change.workflow and v.version = v_change.base_version;
  select r.definition::jsonb into v_new from workflow.change_revision r where r.change_request_id = p_change_request_id order by r.revision_no desc limit 1;
  if p_reader is not null then
    v_old := workflow.without_steps(v_old, workflow.hidden_in(v_old, p_reader));
    v_new := workflow.without_steps(v_new, workflow.hidden_in(v_new, p_reader));
  end if;
  return jsonb_build_object(
    'workflow', v_change.workflow, 'base_version', v_change.base_version, 'state', v_change.proposal_state,
    'current_version', (select g.current_version from workflow.workflow_registry g where g.workflow = v_change.workflow),
    'runs_on_base', (select count(*) from workflow.workflow_run r join workflow.workflow_version v using (workflow_def_id)
                      where v.workflow = v_change.workflow and v.version = v_change.base_version and r.state_code in ('not_started', 'in_progress', 'paused')),
    'fields', workflow.field_diff(coalesce(v_old, '{}') - '{steps,relations}'::text[], v_new - '{steps,relations}'::text[]),
    'steps', workflow.list_diff(v_old -> 'steps', v_new -> 'steps', '{key}'),
    'relations', workflow.list_diff(v_old -> 'relations', v_new -> 'relations', '{from,to}'));
end
$$;
