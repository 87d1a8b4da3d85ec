-- promise: the roll-up of a run with what it rests on, and one sentence in each language. A decisive step that the reader may not see is
--          said to be there, and not named.
-- callers: chancery_app
-- refuses with: RW001, RW023
create or replace function workflow.fn_rollup_seen(p_workflow_run_id uuid, p_reader text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_rollup constant jsonb := workflow.fn_workflow_rollup_compute(p_workflow_run_id);
  v_hidden constant text[] := workflow.hidden_of_run(p_workflow_run_id, p_reader);
  v_run record;
  v_step record;
  v_sentence jsonb;
begin
  select r.mandatory_count, r.completed_count, coalesce(v_rollup ->> 'frozen_rollup_state_code', v_rollup ->> 'rollup_state_code') as colour into v_run
    from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  select s.step_run_id, s.step_key, s.step_key = any (v_hidden) as hidden, s.state_machine_id, s.state_code, d.name_en, d.name_vi,
         -- A step that counts as red in a state that is not is named by what makes it so.
         v_run.colour = 'red' and s.state_code in ('ready', 'in_progress', 'waiting') as is_late into v_step
    from workflow.step_run s join workflow.workflow_step_def d using (step_def_id)
   where s.step_run_id = (v_rollup ->> 'decisive_step_run_id')::uuid;
  select jsonb_object_agg(m.locale, replace(replace(replace(replace(m.text, '{done}', v_run.completed_count::text), '{total}', v_run.mandatory_count::text),
           '{step}', coalesce(case when v_step.hidden then h.text when m.locale = 'vi' then v_step.name_vi else v_step.name_en end, '')),
           '{state}', coalesce((select h.text from config.message h where v_step.is_late and h.message_key = 'headline.work.late' and h.locale = m.locale),
                               (select l.text from fsm.state_def d join config.message l on l.message_key = d.ui_label_i18n_key and l.locale = m.locale
                                 where d.state_machine_id = v_step.state_machine_id and d.state_code = v_rollup ->> 'decisive_state_code'),
                               v_rollup ->> 'decisive_state_code', '')))
    into v_sentence
    from config.message m join config.message h on h.locale = m.locale and h.message_key = 'rollup.sentence.hidden_step'
   where m.message_key = 'rollup.sentence.' || v_run.colour;
  return jsonb_build_object(
    'colour', v_run.colour, 'sentence', v_sentence, 'red', v_rollup -> 'red_count', 'yellow', v_rollup -> 'yellow_count', 'green', v_rollup -> 'green_count',
    'skipped', v_rollup -> 'skipped_count', 'optional', v_rollup -> 'optional_excluded_count', 'mandatory', v_run.mandatory_count, 'completed', v_run.completed_count,
    'decisive_step_id', case when not v_step.hidden then v_step.step_run_id end, 'decisive_step', case when not v_step.hidden then v_step.step_key end,
    'decisive_state', v_rollup -> 'decisive_state_code', 'decisive_is_hidden', coalesce(v_step.hidden, false),
    'frozen_at', v_rollup -> 'frozen_at', 'computed_at', v_rollup -> 'computed_at',
    'basis', (select coalesce(jsonb_agg(s.step_run_id order by s.step_no), '[]')
                from jsonb_array_elements_text(v_rollup -> 'basis_step_run_ids') b join workflow.step_run s on s.step_run_id = b::uuid where s.step_key <> all (v_hidden)),
    'critical_path', (select coalesce(jsonb_agg(s.step_run_id order by s.step_no), '[]')
                        from jsonb_array_elements_text(v_rollup -> 'critical_path') b join workflow.step_run s on s.step_run_id = b::uuid where s.step_key <> all (v_hidden)));
end
$$;
