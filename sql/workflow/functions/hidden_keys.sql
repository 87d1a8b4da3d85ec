-- promise: the keys of the steps of a version that the reader may not see, in their order. A step without a permission is seen by everyone.
create or replace function workflow.hidden_keys(p_workflow_def_id uuid, p_reader text) returns text[]
language sql stable
as $$
  select coalesce(array_agg(h.step_key order by h.step_no), '{}')
    from (select d.step_key, d.step_no
            from workflow.workflow_step_def d join workflow.workflow_step_permission p using (step_def_id)
           where d.workflow_def_id = p_workflow_def_id
           group by d.step_key, d.step_no
          having not bool_or(p.actor_class = any (coalesce((select i.actor_classes from identity.principal i where i.name = p_reader and i.active), '{}')))) h
$$;
