-- owner: chancery_guard
-- promise: the reviewer holds the review authority and is not the one who marked the request
create or replace function cutter_governance.guard_review_auth(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select p_context #>> '{actor,class}' = 'review_authority' and p_context #>> '{actor,principal}' <> p_context #>> '{run,started_by}'
$$;
