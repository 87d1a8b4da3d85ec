-- promise: an event as CloudEvents 1.0 (structured JSON): envelope facts from the log, the payload as it was checked.
create or replace function event.cloudevent(
  p_event_id uuid, p_event_type text, p_at timestamptz, p_position bigint, p_subject_kind text, p_subject_id uuid, p_subject_seq bigint,
  p_from_state text, p_to_state text, p_principal text, p_trace_id text, p_correlation_id text, p_payload jsonb
) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'specversion', '1.0', 'id', p_event_id, 'source', '/chancery/' || p_subject_kind, 'type', p_event_type, 'subject', p_subject_id,
    'time', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'datacontenttype', 'application/json',
    'sequence', p_position, 'traceparent', '00-' || p_trace_id || '-' || right(replace(p_event_id::text, '-', ''), 16) || '-01',
    'correlationid', p_correlation_id,
    'data', p_payload || jsonb_build_object('run_kind', p_subject_kind, 'run_id', p_subject_id, 'seq', p_subject_seq,
                                            'from', p_from_state, 'to', p_to_state, 'principal', p_principal))
$$;
