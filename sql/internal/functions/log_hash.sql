-- promise: the hash of one log row: SHA-256 over every stored column, unambiguous: first the columns whose alphabet has no
--          comma (ids, numbers, hex), then the byte lengths of the free texts (-1 for null), then the texts. The hash of the
--          row before it in the same run is among them. `chancery audit verify` computes the same in Rust.
-- STABLE and not IMMUTABLE because concat is: only so can the planner inline it into the move.
create or replace function internal.log_hash(
  p_run_id uuid, p_seq bigint, p_log_id uuid, p_run_kind text, p_state_machine_id text, p_transition_id text,
  p_from_state text, p_to_state text, p_facet text, p_principal text, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
  p_reason text, p_evidence text, p_event_type text, p_artefact_digest bytea, p_idempotency_key text,
  p_key_id uuid, p_signature bytea, p_at timestamptz, p_prev_hash bytea
) returns bytea
language sql stable parallel safe
as $$
  select sha256(convert_to(concat(
    'chancery.log.v1,', p_run_id, ',', p_seq, ',', p_log_id, ',', p_key_id, ',',
    -- microseconds, never timestamptz text, which follows TimeZone
    (extract(epoch from p_at) * 1000000)::bigint, ',',
    encode(p_prev_hash, 'hex'), ',', encode(p_artefact_digest, 'hex'), ',', encode(p_signature, 'hex'), ',',
    octet_length(p_run_kind), ',', octet_length(p_state_machine_id), ',', octet_length(p_transition_id), ',',
    coalesce(octet_length(p_from_state), -1), ',', octet_length(p_to_state), ',', coalesce(octet_length(p_facet), -1), ',', octet_length(p_principal), ',',
    octet_length(p_actor_class), ',', octet_length(p_trigger_kind), ',', octet_length(p_trigger_ref), ',',
    coalesce(octet_length(p_reason), -1), ',', octet_length(p_evidence), ',', coalesce(octet_length(p_event_type), -1), ',',
    octet_length(p_idempotency_key), ':',
    p_run_kind, p_state_machine_id, p_transition_id, p_from_state, p_to_state, p_facet, p_principal, p_actor_class, p_trigger_kind,
    p_trigger_ref, p_reason, p_evidence, p_event_type, p_idempotency_key
  ), 'UTF8'))
$$;
