-- promise: a decision about a step or task is on record; null when the key stands for it already.
-- refuses with: RS012 the key stands for another decision, RS013, RS027 a fact is blank
create or replace function workflow.decide(
  p_work workflow.work, p_kind text, p_facts jsonb, p_principal text, p_actor_class text, p_approval_id uuid, p_idempotency_key text
) returns uuid
language plpgsql
as $$
declare
  v_known workflow.step_decision;
  v_id constant uuid := internal.uuid_v7();
  v_problems jsonb := fsm.request_problems(p_work.run_kind, p_facts, p_idempotency_key, p_principal);
begin
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  -- What a decision rests on is evidence like that of a move.
  v_problems := fsm.blank_members(null, p_facts);
  if v_problems <> '[]' then
    perform internal.refuse(internal.problem('RS027', jsonb_build_object('document', 'evidence', 'breaks', v_problems)));
  end if;
  select d.* into v_known from workflow.step_decision d where d.run_id = p_work.run_id and d.idempotency_key = p_idempotency_key;
  if found then
    if (v_known.decision_kind, v_known.facts::text, v_known.principal) is distinct from (p_kind, internal.canonical_json(p_facts), p_principal) then
      perform internal.refuse(internal.problem('RS012', jsonb_build_object(
        'idempotency_key', p_idempotency_key, 'used_for_seq', null, 'differs_in', jsonb_build_array('decision'))));
    end if;
    return null;
  end if;
  insert into workflow.step_decision (decision_id, run_kind, run_id, decision_kind, facts, principal, actor_class, approval_id, idempotency_key, decided_at)
  values (v_id, p_work.run_kind, p_work.run_id, p_kind, internal.canonical_json(p_facts), p_principal, p_actor_class, p_approval_id, p_idempotency_key, internal.now());
  return v_id;
end
$$;
