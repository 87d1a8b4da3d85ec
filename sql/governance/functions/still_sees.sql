-- promise: true while the database itself sees the problem that a summary is about.
create or replace function governance.still_sees(p_category text, p_subject text) returns boolean
language sql stable
as $$
  select case
    when p_category = 'executors' then
      exists (select from governance.vw_problem p where p.category = 'dlq' and p.facts ->> 'executor_class' = p_subject)
      or exists (select from governance.vw_problem p where p.category = 'silent_worker' and p.facts ->> 'worker_class' = p_subject)
    else exists (select from governance.vw_problem p where p.category = p_category and p_subject in ('*', p.item_id)) end
$$;
