-- promise: the settings of the roll-up policy that is active for a version of the machine of runs.
-- refuses with: RW023 there is none, or no rule here understands it: weights belong to the policy "weighted", which has one between 0 and 1 for
--               each class of states
create or replace function workflow.rollup_policy(p_state_machine_id text) returns jsonb
language plpgsql stable
as $$
declare
  v_policy record;
begin
  select p.policy_code, p.policy_config_jsonb as config into v_policy
    from fsm.rollup_policy_def p where p.state_machine_id = p_state_machine_id and p.active order by p.policy_code limit 1;
  if (case v_policy.policy_code
        when 'red_overrides_yellow_overrides_green' then coalesce(v_policy.config -> 'weights', 'null') = 'null'
        when 'weighted' then (select count(*) = 4 and bool_and(case when jsonb_typeof(w.value) = 'number' then (w.value #>> '{}')::numeric between 0 and 1 else false end)
                                from jsonb_each(case when jsonb_typeof(v_policy.config -> 'weights') = 'object' then v_policy.config -> 'weights' else '{}' end) w
                               where w.key in ('red', 'yellow', 'green', 'gray'))
        else false end) is not true then
    perform internal.refuse(internal.problem('RW023', jsonb_build_object('machine', p_state_machine_id, 'policy', v_policy.policy_code)));
  end if;
  return v_policy.config;
end
$$;
