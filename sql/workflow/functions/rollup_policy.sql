-- promise: the settings of the roll-up policy that is active for a version of the machine of runs.
-- refuses with: RW023 there is none, or it declares weights, which no rule here understands
create or replace function workflow.rollup_policy(p_state_machine_id text) returns jsonb
language plpgsql stable
as $$
declare
  v_policy record;
begin
  select p.policy_code, p.policy_config_jsonb as config into v_policy
    from fsm.rollup_policy_def p where p.state_machine_id = p_state_machine_id and p.active order by p.policy_code limit 1;
  if v_policy.policy_code is distinct from 'red_overrides_yellow_overrides_green' or v_policy.config -> 'weights' <> 'null' then
    perform internal.refuse(internal.problem('RW023', jsonb_build_object('machine', p_state_machine_id, 'policy', v_policy.policy_code)));
  end if;
  return v_policy.config;
end
$$;
