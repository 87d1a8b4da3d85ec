-- promise: what a pass of the sweep tells its caller.
create or replace function cutter_governance.sweep_report(p_sweep cutter_governance.decision_backlog_sweep_log, p_replayed boolean) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'sweep_id', p_sweep.sweep_id, 'scanned', p_sweep.scanned_count, 'promoted', p_sweep.promoted_count,
    'entries', p_sweep.report_summary::jsonb -> 'promoted', 'replayed', p_replayed)
$$;
