-- promise: one move of one run, whole or not at all: compare-and-set of the state, log row, outbox event. The verdict of
--          a key that was used before is given again. Problems are returned, not raised: the door decides what to do.
--          The answer is the report that the door gives (fsm.accepted, fsm.refused).
-- callers: fsm.fn_state_transition_apply, fsm.fn_state_transition_apply_batch, doors of the rooms
-- locks: parent → run → children → what predicate guards declare (docs/states/locking.md); then the run by compare-and-set
create or replace function fsm.move(
  p_run_id uuid, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text, p_idempotency_key text,
  p_reason text, p_artefact_digest bytea, p_key_id uuid, p_signature bytea
) returns jsonb
language plpgsql
as $$
declare
  v_problems jsonb;
  v_run fsm.run_row;
  v_verdict fsm.verdict;
  v_evidence text;
  v_log_id uuid;
  v_at timestamptz;
  v_seq bigint;
  v_hash bytea;
begin
  -- The cheap form of what request_problems asks in full.
  if p_idempotency_key is null or btrim(p_idempotency_key) = '' or length(p_idempotency_key) > 200 or p_principal is null
     or jsonb_typeof(p_evidence) is distinct from 'object' or p_evidence ? 'event' or length(p_evidence::text) > 128 then
    v_problems := fsm.request_problems(p_run_kind, p_evidence, p_idempotency_key, p_principal);
    if v_problems is not null then
      return fsm.refused(p_run_id, p_to_state, v_problems);
    end if;
  end if;

  loop
    v_run := fsm.run_peek(p_run_kind, p_run_id);
    if v_run.state_machine_id is null then
      return fsm.refused(p_run_id, p_to_state, coalesce(
        fsm.request_problems(p_run_kind, p_evidence, p_idempotency_key, p_principal),
        internal.problem('RS001', jsonb_build_object('run_kind', p_run_kind, 'run_id', p_run_id))));
    end if;
    v_verdict := fsm.evaluate(p_run_kind, p_run_id, v_run, p_from_state, p_to_state, p_actor_class, p_trigger_kind,
                              p_trigger_ref, p_evidence, p_principal, p_key_id, p_signature is not null);

    if v_verdict.problems is not null or not v_verdict.reads <@ array['history', 'config', 'now'] then
      -- lock: a guard that reads other rows is asked again once those rows cannot change under it. Without this a step was
      -- seen to complete beside its unfinished task: both transactions read before either wrote. (History cannot change
      -- without the run's seq, which the compare-and-set checks; config is a setting, not a fact of a run.)
      if v_verdict.problems is null then
        v_run := fsm.lock_reads(p_run_kind, p_run_id, v_run.parent_run_id, v_verdict.reads);
        v_verdict := fsm.evaluate(p_run_kind, p_run_id, v_run, p_from_state, p_to_state, p_actor_class, p_trigger_kind,
                                  p_trigger_ref, p_evidence, p_principal, p_key_id, p_signature is not null);
      end if;
      if v_verdict.problems is not null then
        -- A repeated request need not be allowed any more; its first answer stands.
        return coalesce(
          fsm.replay(p_run_id, p_from_state, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal,
                     p_idempotency_key, p_reason, p_artefact_digest),
          fsm.refused(p_run_id, p_to_state, v_verdict.problems));
      end if;
    end if;

    -- The key stands for an earlier move that happens to be possible again. (Asked by a look of its own: ON CONFLICT in the
    -- insert below cost more, with its speculative write and the way back.)
    perform from fsm.transition_log l where l.run_id = p_run_id and l.idempotency_key = p_idempotency_key;
    if found then
      return fsm.replay(p_run_id, p_from_state, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal,
                        p_idempotency_key, p_reason, p_artefact_digest);
    end if;

    -- act: the chain hash is over what is stored, so it is made before the row is
    v_at := internal.now();
    v_seq := v_run.seq + 1;
    v_log_id := internal.uuid_v7();
    v_evidence := internal.canonical_evidence(p_evidence);
    v_hash := internal.log_hash(
      p_run_id, v_seq, v_log_id, p_run_kind, v_run.state_machine_id, v_verdict.transition_id, v_verdict.from_state, p_to_state,
      v_verdict.facet, p_principal, p_actor_class, p_trigger_kind, p_trigger_ref, p_reason, v_evidence, v_verdict.event_type,
      p_artefact_digest, p_idempotency_key, p_key_id, p_signature, v_at, v_run.head_hash);

    -- A miss means that someone moved the run since we looked, perhaps with this very key: look again.
    if fsm.run_cas(p_run_kind, p_run_id, v_run.seq, p_to_state, v_verdict.facet, v_seq, v_hash, v_at) then
      -- record
      insert into fsm.transition_log (
        run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, facet, principal, actor_class,
        trigger_kind, trigger_ref, reason, evidence, event_type, artefact_digest, idempotency_key, key_id, signature,
        at, prev_hash, hash)
      values (
        p_run_id, v_seq, v_log_id, p_run_kind, v_run.state_machine_id, v_verdict.transition_id, v_verdict.from_state,
        p_to_state, v_verdict.facet, p_principal, p_actor_class, p_trigger_kind, p_trigger_ref, p_reason, v_evidence, v_verdict.event_type,
        p_artefact_digest, p_idempotency_key, p_key_id, p_signature, v_at, v_run.head_hash, v_hash);
      if v_verdict.event_type is not null then
        insert into event.event_outbox (
          event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
        values (
          v_log_id, v_at, v_verdict.event_type, p_run_kind, p_run_id, v_seq, p_principal, v_run.trace_id,
          v_run.correlation_id, coalesce(v_verdict.payload, '{}'));
      end if;
      return fsm.accepted(p_run_id, v_verdict.transition_id, v_verdict.event_type, v_verdict.from_state, p_to_state, v_seq, v_hash, false);
    end if;
  end loop;
end
$$;
