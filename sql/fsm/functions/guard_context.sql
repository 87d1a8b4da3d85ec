-- promise: the document that every guard sees: the run, the evidence, the actor. What a guard declares to read besides is added
--          by fsm.widen_context.
-- Texts go in through jsonb_object: jsonb_build_object asks the catalogue three times for the type of each argument.
create or replace function fsm.guard_context(
  p_run_kind text, p_run_id uuid, p_run fsm.run_row, p_evidence jsonb, p_principal text, p_principal_kind text, p_actor_class text
) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'run', jsonb_object(array[
        'id', p_run_id::text, 'kind', p_run_kind, 'machine', (p_run).state_machine_id, 'state', (p_run).state_code,
        'started_by', (p_run).started_by])
      || jsonb_build_object('seq', (p_run).seq, 'data', (p_run).facts),
    'evidence', p_evidence,
    'actor', jsonb_object(array['principal', p_principal, 'kind', p_principal_kind, 'class', p_actor_class]))
$$;
