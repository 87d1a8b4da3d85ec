-- owner: chancery_guard
-- promise: IG_mark: the bytes still hash to what was pinned, the request is before its reviewers, and the units are within the limit.
create or replace function orchestrator.inv_mark(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'region_sha_matches', coalesce(
      p_evidence ->> 'region_sha' = p_pins ->> 'region_sha'
      and (select encode(sha256(v.body), 'hex') from iu.source_version v where v.source_version_id = p_run.source_version_id) = p_pins ->> 'region_sha', false),
    'mark_rowset_within_limit', coalesce((p_evidence #>> '{pins,candidate_count}')::integer between 1
      and (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'orchestrator.max_candidates_per_doc'), false),
    'request_awaits_review', exists (
      select from cutter_governance.decision_backlog_entry e
       where e.entry_id = p_run.entry_id and e.source_version_id = p_run.source_version_id and e.status = 'review_pending'))
$$;
