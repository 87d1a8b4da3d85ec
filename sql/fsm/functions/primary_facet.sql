-- promise: of the facets that came with a move, the one with the lowest ordinal; null when none came or one is unknown.
create or replace function fsm.primary_facet(p_state_machine_id text, p_state text, p_evidence jsonb) returns text
language sql stable
as $$
  select case when bool_and(f.facet_code is not null) then (array_agg(f.facet_code order by f.primary_ordinal))[1] end
    from jsonb_array_elements_text(
           case when jsonb_typeof(p_evidence -> 'facets') = 'array' then p_evidence -> 'facets' else '[]' end
           || case when jsonb_typeof(p_evidence -> 'facet') = 'string' then jsonb_build_array(p_evidence -> 'facet') else '[]' end
         ) given (code)
    left join fsm.state_facet_def f
      on f.state_machine_id = p_state_machine_id and f.state_code = p_state and f.facet_code = given.code
$$;
