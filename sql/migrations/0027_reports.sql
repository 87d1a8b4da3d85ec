-- What a move answers, made from a row instead of as a document: half the work (docs/decisions/0012-a-short-way-through-the-engine.md).
create type fsm.move_report as (
  ok boolean,
  run_id uuid,
  transition_id text,
  emitted_event_type text,
  "from" text,
  "to" text,
  seq bigint,
  hash text,
  replayed boolean,
  problems json
);
comment on type fsm.move_report is 'The report of one move, as the doors give it: made, or refused with everything that stood against it.';

-- The release that brings this makes them anew; what a function returns cannot be replaced.
drop function if exists fsm.accepted(uuid, text, text, text, text, bigint, bytea, boolean);
drop function if exists fsm.refused(uuid, text, jsonb);
drop function if exists fsm.replay(uuid, text, text, text, text, text, jsonb, text, text, text, bytea);
drop function if exists fsm.fn_state_transition_apply(uuid, text, text, text, text, text, text, jsonb, text, text, text, bytea, uuid, bytea);
drop function if exists fsm.fn_state_transition_apply_batch(jsonb);
