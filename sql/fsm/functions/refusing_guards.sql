-- promise: one problem for each guard that does not hold; an empty array when all do. A guard that cannot be answered
--          (missing field, wrong type, any error) does not hold.
-- locks: none; the caller locked what the guards declare they read
create or replace function fsm.refusing_guards(
  p_run_kind text, p_run_id uuid, p_run fsm.run_row, p_guard_ids text[], p_config_rules jsonpath[], p_reads text[], p_evidence jsonb,
  p_principal text, p_principal_kind text, p_actor_class text
) returns jsonb
language plpgsql stable
as $$
declare
  v_context jsonb;
  v_guard record;
  v_answer boolean;
  v_problems jsonb := '[]';
begin
  v_context := fsm.guard_context(p_run_kind, p_run_id, p_run, p_evidence, p_principal, p_principal_kind, p_actor_class);
  if p_reads <> '{}' then
    v_context := fsm.widen_context(v_context, p_run, p_run_id, p_reads);
  end if;
  for v_n in 1 .. cardinality(p_guard_ids) loop
    -- Null is a predicate's place among the compiled rules.
    v_answer := fsm.answer(v_context, p_config_rules[v_n]);
    continue when v_answer;
    select g.guard_name, g.guard_kind, g.rule, g.predicate_fn, g.description
      into v_guard from fsm.guard_def g where g.guard_id = p_guard_ids[v_n];
    continue when v_guard.guard_kind = 'predicate_fn' and fsm.ask_predicate(v_guard.predicate_fn, v_context);
    v_problems := v_problems || internal.problem('RS006', jsonb_build_object(
      'guard', v_guard.guard_name, 'rule', coalesce(v_guard.rule::text, v_guard.predicate_fn), 'means', v_guard.description)
      -- Not false but unknown: which places of the document are missing says what to bring.
      || case when v_guard.guard_kind = 'config' and v_answer is null then jsonb_build_object('unanswered', fsm.missing_paths(v_context, v_guard.rule))
              else '{}' end);
  end loop;
  return v_problems;
end
$$;
