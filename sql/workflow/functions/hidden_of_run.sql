-- promise: the keys of the steps of a run that the reader may not see. Who is in charge of a step sees it, whatever the definition says:
--          nobody works on what they can't read.
create or replace function workflow.hidden_of_run(p_workflow_run_id uuid, p_reader text) returns text[]
language sql stable
as $$
  select coalesce(array_agg(k order by n), '{}')
    from workflow.workflow_run r, unnest(workflow.hidden_keys(r.workflow_def_id, p_reader)) with ordinality h (k, n)
   where r.workflow_run_id = p_workflow_run_id
     and not exists (select from workflow.step_run s where s.workflow_run_id = p_workflow_run_id and s.step_key = h.k
                        and (s.pic_id = p_reader or exists (select from workflow.task_run t where t.step_run_id = s.step_run_id and t.pic_id = p_reader)))
$$;
