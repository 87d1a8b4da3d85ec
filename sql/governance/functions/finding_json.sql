-- promise: a finding with its history; null when there is none of this id.
create or replace function governance.finding_json(p_issue_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'issue_id', i.issue_id, 'issue_type', i.issue_type, 'issue_class', i.issue_class, 'source', i.source_system, 'severity', i.severity, 'state', i.state,
    'title', i.title, 'description', i.description, 'evidence', i.evidence, 'occurrence_count', i.occurrence_count,
    'first_seen_at', internal.rfc3339(i.first_seen_at), 'last_seen_at', internal.rfc3339(i.last_seen_at), 'trace_id', i.trace_id,
    'history', (select coalesce(jsonb_agg(jsonb_build_object(
                         'seq', l.seq, 'at', internal.rfc3339(l.at), 'from', l.from_state, 'to', l.to_state, 'principal', l.principal, 'actor_class', l.actor_class,
                         'signed', l.signature is not null, 'reason', l.reason, 'event_type', l.event_type) order by l.seq), '[]')
                  from fsm.transition_log l where l.run_id = i.issue_id))
    from governance.system_issues i where i.issue_id = p_issue_id
$$;
