-- promise: the roll-up of a run, computed from all its steps: colour, counts, the decisive step, and the steps that were considered. What
--          is stored on the run is kept step by step and says the same. Where the policy declares weights, it has a weight as well: the mean
--          over the mandatory steps that are not skipped. The colour does not depend on it.
-- callers: chancery_app, auditor_ro
-- refuses with: RW001, RW023
create or replace function workflow.fn_workflow_rollup_compute(p_workflow_run_id uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run record;
  v_policy jsonb;
  v_now constant timestamptz := internal.now();
  v_found record;
begin
  select r.state_machine_id, r.frozen_at, r.rollup_state_code into v_run from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  if not found then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow_run', 'id', p_workflow_run_id)));
  end if;
  v_policy := workflow.rollup_policy(v_run.state_machine_id);
  with seen as (
    select s.step_run_id, s.step_no, s.state_code, s.mandatory, s.skipped, s.on_critical_path,
           case
             when not s.mandatory or s.skipped then 'none'
             when s.state_code = 'blocked' and v_policy -> 'blocked_escalation_treats_as_red' = 'true'
                  and workflow.fn_step_blocked_severity(s.step_run_id) = 'red' then 'red'
             when s.state_code <> 'blocked' and v_policy -> 'late_treats_as_red' = 'true' and workflow.is_past_deadline(s.state_code, s.deadline, v_now) then 'red'
             else case d.semantic_class when 'idle' then 'gray' when 'wait' then 'yellow' when 'red' then 'red' else 'green' end end as class
      from workflow.step_run s join fsm.state_def d using (state_machine_id, state_code)
     where s.workflow_run_id = p_workflow_run_id)
  select count(*) filter (where class = 'red')::int as red, count(*) filter (where class = 'yellow')::int as yellow,
         count(*) filter (where class = 'green')::int as green, count(*) filter (where class = 'gray')::int as gray, count(*) filter (where skipped)::int as skipped,
         count(*) filter (where not mandatory and not skipped)::int as optional,
         coalesce(jsonb_agg(step_run_id order by step_no) filter (where class in ('red', 'yellow', 'green')), '[]') as basis,
         coalesce(jsonb_agg(step_run_id order by step_no) filter (where on_critical_path), '[]') as critical,
         (array_agg(step_run_id order by class, step_no) filter (where class = 'red' or class = 'yellow'))[1] as decisive,
         (array_agg(state_code order by class, step_no) filter (where class = 'red' or class = 'yellow'))[1] as decisive_state
    into v_found from seen;
  return jsonb_build_object(
    'rollup_state_code', workflow.colour(v_found.red, v_found.yellow, v_found.green), 'basis_step_run_ids', v_found.basis,
    'red_count', v_found.red, 'yellow_count', v_found.yellow, 'green_count', v_found.green, 'skipped_count', v_found.skipped,
    'optional_excluded_count', v_found.optional, 'decisive_step_run_id', v_found.decisive, 'decisive_state_code', v_found.decisive_state,
    'weight', case when v_policy -> 'weights' <> 'null' then round((
        v_found.red * (v_policy #>> '{weights,red}')::numeric + v_found.yellow * (v_policy #>> '{weights,yellow}')::numeric
        + v_found.green * (v_policy #>> '{weights,green}')::numeric + v_found.gray * (v_policy #>> '{weights,gray}')::numeric)
      / nullif(v_found.red + v_found.yellow + v_found.green + v_found.gray, 0), 4) end,
    'critical_path', v_found.critical, 'frozen_at', v_run.frozen_at, 'frozen_rollup_state_code', case when v_run.frozen_at is not null then v_run.rollup_state_code end,
    'computed_at', internal.now());
end
$$;
