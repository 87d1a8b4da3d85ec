-- A move of a batch: what was asked, and, where the short way is open to it, what the run and the transition said
-- (docs/decisions/0027-a-batch-moves-its-runs-together.md).
create type fsm.batched_move as (
  place bigint,
  run_id uuid,
  run_kind text,
  from_state text,
  to_state text,
  actor_class text,
  trigger_kind text,
  trigger_ref text,
  evidence jsonb,
  evidence_text text,
  principal text,
  idempotency_key text,
  reason text,
  artefact_digest bytea,
  key_id uuid,
  signature bytea,
  state_machine_id text,
  seq bigint,
  prev_hash bytea,
  trace_id text,
  correlation_id text,
  transition_id text,
  left_state text,
  event_type text
);
comment on type fsm.batched_move is
  'One move of a batch with its place in it; from state_machine_id on what the short way found, null where it is not open.';
