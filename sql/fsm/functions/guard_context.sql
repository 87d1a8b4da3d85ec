-- promise: the document that every guard sees: the run, the evidence, the actor. What a guard declares to read besides is added
--          by fsm.widen_context.
create or replace function fsm.guard_context(
  p_run_kind text, p_run_id uuid, p_run fsm.run_row, p_evidence jsonb, p_principal text, p_principal_kind text, p_actor_class text
) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'run', jsonb_build_object(
      'id', p_run_id, 'kind', p_run_kind, 'machine', (p_run).state_machine_id, 'state', (p_run).state_code, 'seq', (p_run).seq,
      'data', (p_run).facts, 'started_by', (p_run).started_by),
    'evidence', p_evidence,
    'actor', jsonb_build_object('principal', p_principal, 'kind', p_principal_kind, 'class', p_actor_class))
$$;
