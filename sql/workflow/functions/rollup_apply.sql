-- promise: the counts, the colour and the decisive step of a run say what its steps say after one of them changed from one class to
--          another. Costs the same however many steps there are: counts move by one, the decisive step is the first of an index.
-- callers: workflow.act, workflow.recolour, with the run locked
create or replace function workflow.rollup_apply(
  p_workflow_run_id uuid, p_old_class text, p_new_class text, p_skipped integer, p_optional integer, p_mandatory integer, p_completed integer
) returns void
language plpgsql
as $$
declare
  v_run workflow.workflow_run;
  v_colour text;
  v_decisive record;
begin
  -- A step that was and stays green, gray or without say changes nothing.
  if p_old_class = p_new_class and p_new_class not in ('red', 'yellow') and p_skipped = 0 and p_mandatory = 0 and p_completed = 0 then
    return;
  end if;
  select r.* into v_run from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  v_run.red_count := v_run.red_count + (p_new_class = 'red')::int - (p_old_class = 'red')::int;
  v_run.yellow_count := v_run.yellow_count + (p_new_class = 'yellow')::int - (p_old_class = 'yellow')::int;
  v_run.green_count := v_run.green_count + (p_new_class = 'green')::int - (p_old_class = 'green')::int;
  v_colour := workflow.colour(v_run.red_count, v_run.yellow_count, v_run.green_count);
  select s.step_run_id, s.state_code into v_decisive
    from workflow.step_run s where s.workflow_run_id = p_workflow_run_id and s.decisive_rank is not null
   order by s.decisive_rank, s.step_no limit 1;
  update workflow.workflow_run r
     set red_count = v_run.red_count, yellow_count = v_run.yellow_count, green_count = v_run.green_count,
         skipped_count = r.skipped_count + p_skipped, optional_excluded_count = r.optional_excluded_count + p_optional,
         mandatory_count = r.mandatory_count + p_mandatory, completed_count = r.completed_count + p_completed,
         -- On hold the colour stands still; the counts go on.
         rollup_state_code = case when r.frozen_at is null then v_colour else r.rollup_state_code end,
         decisive_step_run_id = case when r.frozen_at is null then v_decisive.step_run_id else r.decisive_step_run_id end,
         decisive_state_code = case when r.frozen_at is null then v_decisive.state_code else r.decisive_state_code end,
         last_rollup_at = case when r.frozen_at is null then internal.now() else r.last_rollup_at end
   where r.workflow_run_id = p_workflow_run_id;
  if v_run.parent_step_run_id is not null and v_run.frozen_at is null and v_colour <> v_run.rollup_state_code then
    perform workflow.tell_parent(v_run.parent_step_run_id);
  end if;
end
$$;
