-- promise: the problem of a move into a state with facets that names none of them, with the vocabulary.
create or replace function fsm.explain_missing_facet(p_state_machine_id text, p_state text, p_evidence jsonb) returns jsonb
language sql stable
as $$
  select internal.problem('RS010', jsonb_build_object(
    'state', p_state, 'given', coalesce(p_evidence -> 'facets', p_evidence -> 'facet'),
    'facets', (select jsonb_agg(f.facet_code order by f.primary_ordinal) from fsm.state_facet_def f
                where f.state_machine_id = p_state_machine_id and f.state_code = p_state)))
$$;
