-- promise: what a phase tells its caller: the entry as it is now, whether the call was a repetition, and what the phase made.
create or replace function cutter_governance.entry_report(p_entry_id uuid, p_move jsonb, p_made jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
           'entry_id', e.entry_id, 'kind', e.kind, 'status', e.status, 'seq', e.seq, 'document_id', e.document_id,
           'replayed', coalesce((p_move ->> 'replayed')::boolean, false)) || p_made
    from cutter_governance.decision_backlog_entry e where e.entry_id = p_entry_id
$$;
