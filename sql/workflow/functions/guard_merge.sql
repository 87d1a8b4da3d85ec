-- owner: chancery_guard
-- promise: true when the approval of what the proposal says was used for this merge, and a workflow has the version that was made of it
create or replace function workflow.guard_merge(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
           select from workflow.review_of(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid) r
             join approval.approval_use u on u.approval_id = r.approval_id and u.used_for_kind = p_context #>> '{run,kind}'
            where starts_with(u.used_for_ref, (p_context #>> '{run,id}') || '/'))
         and (p_context #>> '{run,kind}' = 'proposal' or exists (
           select from workflow.workflow_change_requests c join workflow.workflow_registry g on g.workflow = c.workflow and g.current_def_id = c.merged_def_id
            where c.change_request_id = (p_context #>> '{run,id}')::uuid))
$$;
