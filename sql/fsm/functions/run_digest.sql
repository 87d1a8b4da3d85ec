-- promise: the digest of what a run was born with and never changes. It stands in the birth row of the log, so that the chain
--          covers it; the audit computes it again from the row.
create or replace function fsm.run_digest(p_run_id uuid) returns bytea
language sql stable
as $$
  select sha256(convert_to(internal.canonical_json(jsonb_build_object(
           'state_machine_id', r.state_machine_id, 'parent_run_id', r.parent_run_id, 'data', r.data, 'started_by', r.started_by,
           'trace_id', r.trace_id, 'correlation_id', r.correlation_id,
           'created_at_micros', (extract(epoch from r.created_at) * 1000000)::bigint)), 'UTF8'))
    from fsm.run r where r.run_id = p_run_id
$$;
