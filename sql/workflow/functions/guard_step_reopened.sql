-- owner: chancery_guard
-- promise: true when the newest move of the step that the evidence names opened it again for correction, on the approval that the evidence names,
--          which was used for that, and the run has something to do again
create or replace function workflow.guard_step_reopened(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select not workflow.is_complete((p_context #>> '{run,id}')::uuid)
     and exists (
       select from workflow.step_run s
         join fsm.transition_log l on l.run_id = s.step_run_id and l.seq = s.seq and l.trigger_ref = 'step_reopen_for_correction'
          and l.evidence::jsonb ->> 'approval_id' = p_context #>> '{evidence,approval_id}'
         join approval.approval_use u on u.approval_id = internal.uuid_or_null(p_context #>> '{evidence,approval_id}') and u.used_for_kind = 'step'
          and starts_with(u.used_for_ref, s.step_run_id || '/')
        where s.workflow_run_id = (p_context #>> '{run,id}')::uuid and s.step_run_id = internal.uuid_or_null(p_context #>> '{evidence,step_run_id}'))
$$;
