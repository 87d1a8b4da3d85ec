-- promise: what a caller is told about a run: where it stands now, and what the call did.
create or replace function orchestrator.report(p_run_id uuid, p_made jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object('run_uuid', r.run_id, 'run_id', r.run_name, 'state', r.state_code, 'seq', r.seq, 'document_id', r.document_id,
                            'entry_id', r.entry_id, 'replayed', false) || p_made
    from orchestrator.run r where r.run_id = p_run_id
$$;
