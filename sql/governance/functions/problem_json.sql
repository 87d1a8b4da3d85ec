-- promise: a problem as the doors give it.
create or replace function governance.problem_json(
  p_category text, p_item_id text, p_cause text, p_severity text, p_since timestamptz, p_title_en text, p_title_vi text, p_facts jsonb, p_trace_id text,
  p_run_kind text, p_run_id uuid, p_issue_id uuid
) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'category', p_category, 'item_id', p_item_id, 'cause', p_cause, 'severity', p_severity, 'since', internal.rfc3339(p_since), 'title_en', p_title_en,
    'title_vi', p_title_vi, 'facts', p_facts, 'trace_id', p_trace_id, 'run_kind', p_run_kind, 'run_id', p_run_id, 'issue_id', p_issue_id)
$$;
