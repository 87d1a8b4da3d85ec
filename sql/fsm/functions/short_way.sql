-- promise: the transition of a move that can be judged by one look: a service's well-formed, unsigned request with a new key, by a
--          row that asks for nothing but its guards and the shape of the evidence; that fits, and guards that read the run's data
--          hold. No row means that the full way has to judge (fsm.evaluate). Rules that read more than the data (config_rule) are left
--          to who asks.
-- callers: fsm.move, with the run it has read; fsm.parts_of_batch, with each of its runs
--
-- SQL, STABLE and without settings, so that the planner writes it into the statement that asks: it costs no call. What is asked of
-- the request alone stands in a CASE so that it is a filter of this scan: by itself the planner would put a node of its own before it.
-- `offset 0` keeps the look for the key a look: for many runs the planner might read all keys of the log instead.
-- The key may stand for an earlier move that happens to be possible again. (Asked before the write: ON CONFLICT cost more, with its
-- speculative insert and the way back.)
create or replace function fsm.short_way(
  p_machine text, p_state text, p_head_hash bytea, p_data jsonb, p_run_id uuid, p_from_state text, p_to_state text, p_actor_class text,
  p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_evidence_text text, p_principal text, p_idempotency_key text, p_key_id uuid,
  p_signature bytea
) returns table (transition_id text, from_state text, event_type text, config_rule jsonpath)
language sql stable
as $$
  select t.transition_id, t.from_state, t.emitted_event_type, t.config_rule
    from fsm.transition_def t
   where t.state_machine_id = p_machine and t.from_state = p_state and t.to_state = p_to_state and t.actor_class = p_actor_class
     and t.trigger_kind = p_trigger_kind and t.trigger_ref = p_trigger_ref and session_user = any (t.login_roles)
     and case when t.asks_for_guards_alone then
           p_key_id is null and p_signature is null and p_head_hash is not null and (p_from_state is null or p_from_state = p_state)
           and p_idempotency_key collate "C" > '!' and octet_length(p_idempotency_key) <= 200
           and p_evidence >= '{}' and not p_evidence ? 'event' and octet_length(p_evidence_text) <= 128
           and exists (select from identity.principal p
                        where p.name = p_principal and p.active and p.kind = 'service' and p_actor_class = any (p.actor_classes)
                       offset 0)
           and not exists (select from fsm.transition_log l
                            where l.run_id = p_run_id and l.idempotency_key = p_idempotency_key
                           offset 0)
         end
     and (t.data_rule is null or p_data @@ t.data_rule)
     and (t.evidence_schema is null or fsm.evidence_breaks(t.evidence_schema, p_evidence) = '[]')
$$;
