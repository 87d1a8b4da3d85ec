-- promise: the moves of a batch in the order of their runs' ids, parted into such as can be made together (short) and such as go one
--          by one. Together go neighbours to which the short way is open, of the kind `custom`, with no rule that reads more than the
--          run's data. A run that is named twice goes one by one: its second move has to see the first.
-- callers: fsm.fn_state_transition_apply_batch
--
-- It locks nothing: what it says of a run counts as long as the run's seq is the one it saw (fsm.move_together). The settings keep
-- it to one look a run, whatever statistics say, also when the plan is older than the rows.
create or replace function fsm.parts_of_batch(p_moves jsonb) returns table (short boolean, moves fsm.batched_move[])
language plpgsql stable
set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  with asked as materialized (
    select r.n, r.run_id, r.run_kind, r."from", r."to", r.actor_class, r.trigger_kind, r.trigger_ref, coalesce(r.evidence, '{}') as evidence,
           coalesce(r.evidence, '{}')::text as evidence_text, r.principal, r.idempotency_key, r.reason,
           decode(r.artefact_digest, 'hex') as artefact_digest, r.key_id, decode(r.signature, 'hex') as signature,
           count(*) over (partition by r.run_id) = 1 as once
      from rows from (jsonb_to_recordset(p_moves) as (
             run_id uuid, run_kind text, "from" text, "to" text, actor_class text, trigger_kind text, trigger_ref text, evidence jsonb,
             principal text, idempotency_key text, reason text, artefact_digest text, key_id uuid, signature text))
           with ordinality r (run_id, run_kind, "from", "to", actor_class, trigger_kind, trigger_ref, evidence, principal, idempotency_key,
                              reason, artefact_digest, key_id, signature, n)
  ), judged as (
    select a.run_id, a.n, j.transition_id is not null as short,
           row(a.n, a.run_id, a.run_kind, a."from", a."to", a.actor_class, a.trigger_kind, a.trigger_ref, a.evidence, a.evidence_text,
               a.principal, a.idempotency_key, a.reason, a.artefact_digest, a.key_id, a.signature,
               j.state_machine_id, j.seq, j.head_hash, j.trace_id, j.correlation_id, j.transition_id, j.from_state,
               j.event_type)::fsm.batched_move as move
      from asked a
           left join lateral (
             select r.state_machine_id, r.seq, r.head_hash, r.trace_id, r.correlation_id, t.transition_id, t.from_state, t.event_type
               from fsm.run r,
                    fsm.short_way(
                      r.state_machine_id, r.state_code, r.head_hash, r.data, a.run_id, a."from", a."to", a.actor_class, a.trigger_kind,
                      a.trigger_ref, a.evidence, a.evidence_text, a.principal, a.idempotency_key, a.key_id, a.signature) t
              where r.run_id = a.run_id and a.run_kind = 'custom' and a.once and t.config_rule is null
             offset 0) j on true
  ), parted as (
    select j.*, count(*) filter (where not j.short) over (order by j.run_id, j.n) as part from judged j
  )
  select p.short, array_agg(p.move order by p.run_id, p.n) from parted p group by p.part, p.short order by p.part, p.short;
end
$$;
