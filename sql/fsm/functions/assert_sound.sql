-- promise: the stored rows of a machine hold what rows can hold. The full checker with its counter-examples is
--          chancery-model; this is the wall behind it for whoever calls the door by hand.
-- refuses with: RS020
create or replace function fsm.assert_sound(p_id text) returns void
language plpgsql
as $$
declare
  v_facts jsonb;
begin
  select jsonb_strip_nulls(jsonb_build_object(
    'unreachable', (
      with recursive reached (state_code) as (
        select m.initial_state from fsm.state_machine_def m where m.state_machine_id = p_id
        union
        select t.to_state from fsm.transition_def t join reached r on t.from_state = r.state_code where t.state_machine_id = p_id)
      select jsonb_agg(s.state_code) from fsm.state_def s
       where s.state_machine_id = p_id and not s.is_conceptual and s.state_code not in (select state_code from reached)),
    'dead_ends', (
      select jsonb_agg(s.state_code) from fsm.state_def s
       where s.state_machine_id = p_id and not s.is_terminal and not s.is_conceptual
         and not exists (select from fsm.transition_def t where t.state_machine_id = p_id and t.from_state = s.state_code)),
    'no_birth_row', (
      select true where not exists (
        select from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
         where t.state_machine_id = p_id and t.from_state is null and t.to_state = m.initial_state)),
    'rows_into_conceptual_states', (
      select jsonb_agg(t.transition_id) from fsm.transition_def t
        join fsm.state_def s on s.state_machine_id = t.state_machine_id and s.state_code in (t.to_state, t.from_state)
       where t.state_machine_id = p_id and s.is_conceptual),
    'predicate_guards_in_a_custom_machine', (
      select jsonb_agg(t.transition_id) from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
       where t.state_machine_id = p_id and m.scope = 'custom' and t.guard_kind = 'predicate_fn'),
    'actors_that_can_never_act', (
      select jsonb_agg(distinct t.actor_class) from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
       where t.state_machine_id = p_id and not fsm.can_act(t.actor_class, m.scope)),
    'colours_unknown', (
      select jsonb_agg(distinct s.ui_color_token) from fsm.state_def s
       where s.state_machine_id = p_id and not exists (select from config.colour c where c.colour = s.ui_color_token)),
    'icons_unknown', (
      select jsonb_agg(distinct n.icon)
        from (select s.ui_icon_token as icon from fsm.state_def s where s.state_machine_id = p_id
              union all
              select f.ui_icon_token from fsm.state_facet_def f where f.state_machine_id = p_id) n
       where not exists (select from config.silhouette i where i.icon = n.icon)),
    'floor_states_missing', (
      select jsonb_agg(f.code)
        from fsm.floor_state() f join fsm.state_machine_def m on m.state_machine_id = p_id and m.scope in ('step', 'task')
       where not exists (select from fsm.state_def s
                          where s.state_machine_id = p_id and s.state_code = f.code and s.semantic_class = f.semantic_class
                            and s.ui_color_token = f.ui_color_token and not s.is_derived)),
    'underived_extra_states', (
      select jsonb_agg(s.state_code)
        from fsm.state_def s join fsm.state_machine_def m using (state_machine_id)
       where s.state_machine_id = p_id and m.scope in ('step', 'task', 'workflow_run') and not s.is_derived
         and s.state_code not in (select code from fsm.floor_state())),
    'floor_equivalents_unknown', (
      select jsonb_agg(s.state_code) from fsm.state_def s
       where s.state_machine_id = p_id and s.is_derived and s.floor_equivalent not in (select code from fsm.floor_state()))
  )) into v_facts;
  if v_facts <> '{}' then
    perform internal.refuse(internal.problem('RS020', jsonb_build_object('machine', p_id) || v_facts));
  end if;
end
$$;
