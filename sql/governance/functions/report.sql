-- promise: a finding as a door reports it.
create or replace function governance.report(p_issue_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object('ok', true, 'issue_id', i.issue_id, 'opened', false, 'occurrence_count', i.occurrence_count, 'severity', i.severity,
                            'state', i.state, 'replayed', false, 'problems', '[]'::jsonb)
    from governance.system_issues i where i.issue_id = p_issue_id
$$;
