-- promise: a summary with all its evidence, and where it leads to.
create or replace function governance.summary_report(p_summary governance.status_summary, p_replayed boolean) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'ok', true, 'replayed', p_replayed, 'summary_id', p_summary.summary_id, 'category', p_summary.category, 'subject', p_summary.subject, 'state', p_summary.state,
    'text_en', p_summary.text_en, 'text_vi', p_summary.text_vi, 'facts', p_summary.facts::jsonb, 'source_event_count', p_summary.source_event_count,
    'source_event_total', p_summary.source_event_total, 'source_event_refs', to_jsonb(p_summary.source_event_refs),
    'time_window', jsonb_build_object('start_at', internal.rfc3339(p_summary.window_start), 'end_at', internal.rfc3339(p_summary.window_end)),
    'generated_by', jsonb_build_object('summarizer_kind', p_summary.summarizer_kind, 'summarizer_ref', p_summary.summarizer_ref,
                                       'summarizer_version', p_summary.summarizer_version),
    'confidence', p_summary.confidence, 'low_confidence', p_summary.low_confidence, 'trace_id', p_summary.trace_id,
    'prior_summary_id', p_summary.prior_summary_id, 'resolved_by', p_summary.resolved_by_event_id, 'put_by', p_summary.put_by,
    'created_at', internal.rfc3339(p_summary.created_at), 'drill_down', p_summary.summary_id, 'problems', '[]'::jsonb)
$$;
