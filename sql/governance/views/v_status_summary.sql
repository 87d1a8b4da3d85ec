create or replace view governance.v_status_summary with (security_barrier) as
select t.summary_id, t.category, t.subject, t.state, t.text_en, t.text_vi, t.facts, t.source_event_count, t.source_event_total, t.source_event_refs, t.window_start,
       t.window_end, t.summarizer_kind, t.summarizer_ref, t.summarizer_version, t.confidence, t.low_confidence, t.trace_id, t.prior_summary_id,
       t.resolved_by_event_id, t.put_by, t.idempotency_key, t.created_at, t.row_digest, t.digest_version
  from governance.status_summary t;
comment on view governance.v_status_summary is 'Summaries, raw columns: for the audit.';
