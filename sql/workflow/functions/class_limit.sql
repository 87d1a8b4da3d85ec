-- promise: a limit of a class of workflows in seconds, as an interval: its own row, or the default one.
create or replace function workflow.class_limit(p_key text, p_workflow_class text) returns interval
language sql stable
as $$
  select make_interval(secs => (c.value #>> '{}')::double precision)
    from config.dot_config c
   where c.key in (p_key || '.' || p_workflow_class, p_key || '.default')
   order by c.key = p_key || '.default' limit 1
$$;
