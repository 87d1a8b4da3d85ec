-- promise: the class that findings of a category have; null when there is no such category.
create or replace function governance.class_of_category(p_category text) returns text
language sql immutable
as $$
  select case p_category
    when 'dlq' then 'dlq' when 'silent_workers' then 'silent_worker' when 'overdue' then 'overdue_step' when 'schema_violations' then 'schema_violation'
    when 'event_lag' then 'event_lag' when 'integrity_warnings' then 'integrity' when 'failed_cuts' then 'failed_cut'
    when 'orphan_workflows' then 'orphan_workflow' end
$$;
