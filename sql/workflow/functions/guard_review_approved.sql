-- owner: chancery_guard
-- promise: true when the request for approval about what the proposal says now stands so
create or replace function workflow.guard_review_approved(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (select from workflow.review_of(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid) r
                  where r.state = 'approved' and r.approval_id = internal.uuid_or_null(p_context #>> '{evidence,approval_id}'))
$$;
