-- owner: chancery_guard
-- promise: true when the evidence names the digest of what the proposal says now
create or replace function workflow.guard_digest_pinned(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p_context #>> '{evidence,digest}' = encode(workflow.proposal_digest(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid), 'hex')
$$;
