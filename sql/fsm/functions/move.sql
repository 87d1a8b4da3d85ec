-- promise: one move of one run, whole or not at all: compare-and-set of the state, log row, outbox event. The verdict of
--          a key that was used before is given again. Problems are returned; for the general door (p_door) they are raised, and
--          kinds that move through the doors of their room alone are refused. The answer is the report that the door gives
--          (fsm.accepted, fsm.refused).
-- callers: fsm.fn_state_transition_apply, fsm.fn_state_transition_apply_batch, doors of the rooms
-- A signature is verified before anything is locked here; a door that locks something before it comes here has verified it by then and says so
-- (p_verified, from fsm.require_move_signature). A key that was used before is answered from the log without looking at the signature.
-- locks: parent → run → children → what predicate guards declare (docs/states/locking.md); then the run by compare-and-set
--
-- Why a short way and a full one, why the kind `custom` is written out, and why so few expressions and no composites on the
-- short way: docs/decisions/0012-a-short-way-through-the-engine.md.
create or replace function fsm.move(
  p_run_id uuid, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_principal text, p_idempotency_key text,
  p_reason text, p_artefact_digest bytea, p_key_id uuid, p_signature bytea, p_door boolean default false, p_verified bytea default null
) returns json
language plpgsql
as $$
declare
  v_machine text;
  v_state text;
  v_seq bigint;
  v_prev_hash bytea;
  v_started_by text;
  v_trace_id text;
  v_correlation_id text;
  v_data jsonb;
  v_parent_run_id uuid;
  v_at timestamptz;
  v_log_id uuid;
  v_transition_id text;
  v_from_state text;
  v_event_type text;
  v_facet text;
  v_config_rule jsonpath;
  v_payload jsonb;
  v_evidence text := p_evidence;
  v_next bigint;
  v_hash bytea;
  -- the full way only
  v_run fsm.run_row;
  v_verdict fsm.verdict;
  v_report json;
  v_signature_holds boolean := p_signature is null;
begin
  loop
    -- look: without a lock. The time is read after the run, so it is later than that of the move which this one follows; where the
    -- clock of the server went back, it is the same.
    if p_run_kind = 'custom' then
      select r.state_machine_id, r.state_code, r.seq, r.head_hash, r.parent_run_id, r.started_by, r.trace_id, r.correlation_id, r.data,
             greatest(internal.now(), r.last_transition_at), internal.uuid_v7()
        into v_machine, v_state, v_seq, v_prev_hash, v_parent_run_id, v_started_by, v_trace_id, v_correlation_id, v_data,
             v_at, v_log_id
        from fsm.run r where r.run_id = p_run_id;
    else
      if p_door and fsm.is_moved_by_its_room(p_run_kind) then
        perform internal.refuse(internal.problem('RS026', jsonb_build_object('run_kind', p_run_kind)));
      end if;
      select r.state_machine_id, r.state_code, r.seq, r.head_hash, r.parent_run_id, r.started_by, r.trace_id, r.correlation_id, r.facts,
             greatest(internal.now(), (select l.at from fsm.transition_log l where l.run_id = p_run_id and l.seq = r.seq)), internal.uuid_v7()
        into v_machine, v_state, v_seq, v_prev_hash, v_parent_run_id, v_started_by, v_trace_id, v_correlation_id, v_data,
             v_at, v_log_id
        from fsm.run_peek(p_run_kind, p_run_id) r;
    end if;

    -- judge, the short way. Whatever is true there is found true one by one on the full way.
    select t.transition_id, t.from_state, t.event_type, t.config_rule
      into v_transition_id, v_from_state, v_event_type, v_config_rule
      from fsm.short_way(v_machine, v_state, v_prev_hash, v_data, p_run_id, p_from_state, p_to_state, p_actor_class, p_trigger_kind,
                         p_trigger_ref, p_evidence, v_evidence, p_principal, p_idempotency_key, p_key_id, p_signature) t;
    if v_config_rule is not null then
      -- Rules that read more than the run's data are asked of the whole document.
      if not coalesce(fsm.guard_context(
           p_run_kind, p_run_id, row(v_machine, v_state, v_seq, null, null, v_started_by, null, null, v_data)::fsm.run_row, p_evidence,
           p_principal, 'service', p_actor_class) @@ v_config_rule, false) then
        v_transition_id := null;
      end if;
    end if;

    -- judge, the full way: everything else, and everything that is refused
    if v_transition_id is null then
      v_verdict.problems := fsm.request_problems(p_run_kind, p_evidence, p_idempotency_key, p_principal);
      if v_verdict.problems is null and v_machine is null then
        v_verdict.problems := internal.problem('RS001', jsonb_build_object('run_kind', p_run_kind, 'run_id', p_run_id));
      end if;
      if v_verdict.problems is not null then
        v_report := fsm.refused(p_run_id, p_to_state, v_verdict.problems);
        exit;
      end if;
      v_run := row(v_machine, v_state, v_seq, v_prev_hash, v_parent_run_id, v_started_by, v_trace_id, v_correlation_id, v_data);
      v_verdict := fsm.evaluate(p_run_kind, p_run_id, v_run, p_from_state, p_to_state, p_actor_class, p_trigger_kind,
                                p_trigger_ref, p_evidence, p_principal, p_key_id, p_signature is not null);
      -- sign: last of what is asked without a lock, since it takes longest, and once, however often the run has to be looked at. The key of a
      -- principal and its bytes never change, and whether it was revoked meanwhile is asked again with everything else.
      if v_verdict.problems is null and not v_signature_holds then
        v_verdict.problems := nullif(fsm.move_signature_problems(
          p_run_kind, p_run_id, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal, p_idempotency_key, p_reason,
          case when v_seq = 0 then v_machine end, v_data, p_key_id, p_signature, p_verified), '[]');
        v_signature_holds := v_verdict.problems is null;
      end if;
      if v_verdict.problems is null and not v_verdict.reads <@ array['history', 'config', 'now'] then
        -- lock: a guard that reads other rows is asked again once those rows cannot change under it. Without this a step was
        -- seen to complete beside its unfinished task: both transactions read before either wrote. (History cannot change
        -- without the run's seq, which the compare-and-set checks; config is a setting, not a fact of a run.)
        v_run := fsm.lock_reads(p_run_kind, p_run_id, v_parent_run_id, v_verdict.reads);
        v_verdict := fsm.evaluate(p_run_kind, p_run_id, v_run, p_from_state, p_to_state, p_actor_class, p_trigger_kind,
                                  p_trigger_ref, p_evidence, p_principal, p_key_id, p_signature is not null);
        v_seq := v_run.seq;
        v_prev_hash := v_run.head_hash;
        v_at := greatest(internal.now(), (select l.at from fsm.transition_log l where l.run_id = p_run_id and l.seq = v_seq));
      end if;
      -- The key stands for an earlier move, whether that would be allowed once more or not: its first answer stands.
      v_report := coalesce(
        fsm.replay(p_run_id, p_from_state, p_to_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal,
                   p_idempotency_key, p_reason, p_artefact_digest),
        case when v_verdict.problems is not null then fsm.refused(p_run_id, p_to_state, v_verdict.problems) end);
      exit when v_report is not null;
      v_transition_id := v_verdict.transition_id;
      v_from_state := v_verdict.from_state;
      v_event_type := v_verdict.event_type;
      v_facet := v_verdict.facet;
      v_payload := v_verdict.payload;
    end if;

    -- act: the chain hash is over what is stored, so it is made before the row is
    v_evidence := internal.canonical_evidence(p_evidence, v_evidence);
    v_next := v_seq + 1;
    v_hash := internal.log_hash(
      p_run_id, v_next, v_log_id, p_run_kind, v_machine, v_transition_id, v_from_state, p_to_state, v_facet, p_principal,
      p_actor_class, p_trigger_kind, p_trigger_ref, p_reason, v_evidence, v_event_type, p_artefact_digest, p_idempotency_key,
      p_key_id, p_signature, v_at, v_prev_hash);

    -- A miss means that someone moved the run since we looked, perhaps with this very key: look again.
    if p_run_kind = 'custom' then
      update fsm.run r
         set state_code = p_to_state, facet = v_facet, seq = v_next, head_hash = v_hash, last_transition_at = v_at
       where r.run_id = p_run_id and r.seq = v_seq;
    else
      perform where fsm.run_cas(p_run_kind, p_run_id, v_seq, p_to_state, v_facet, v_next, v_hash, v_at);
    end if;
    if found then
      -- record
      insert into fsm.transition_log (
        run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, facet, principal, actor_class,
        trigger_kind, trigger_ref, reason, evidence, event_type, artefact_digest, idempotency_key, key_id, signature,
        at, prev_hash, hash)
      values (
        p_run_id, v_next, v_log_id, p_run_kind, v_machine, v_transition_id, v_from_state, p_to_state, v_facet, p_principal,
        p_actor_class, p_trigger_kind, p_trigger_ref, p_reason, v_evidence, v_event_type, p_artefact_digest, p_idempotency_key,
        p_key_id, p_signature, v_at, v_prev_hash, v_hash);
      if v_event_type is not null then
        insert into event.event_outbox (
          event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
        values (
          v_log_id, v_at, v_event_type, p_run_kind, p_run_id, v_next, p_principal, v_trace_id, v_correlation_id,
          coalesce(v_payload, '{}'));
      end if;
      return fsm.accepted(p_run_id, v_transition_id, v_event_type, v_from_state, p_to_state, v_next, v_hash, false);
    end if;
    v_evidence := p_evidence;
    v_facet := null;
    v_payload := null;
  end loop;
  if p_door and v_report ->> 'ok' = 'false' then
    perform internal.refuse((v_report -> 'problems')::jsonb);
  end if;
  return v_report;
end
$$;
