-- owner: chancery_guard
-- promise: true when the approval that the evidence names was used for this very call, and for no move of the run before
create or replace function workflow.guard_approval(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
           select from approval.approval_use u
            where u.approval_id = internal.uuid_or_null(p_context #>> '{evidence,approval_id}') and u.used_for_kind = p_context #>> '{run,kind}'
              and starts_with(u.used_for_ref, (p_context #>> '{run,id}') || '/'))
         and not exists (
           select from fsm.transition_log l
            where l.run_id = (p_context #>> '{run,id}')::uuid and l.evidence::jsonb ->> 'approval_id' = p_context #>> '{evidence,approval_id}')
$$;
