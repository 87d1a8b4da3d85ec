-- promise: the newest summary of a subject; a row of nulls when there is none.
create or replace function governance.newest_summary(p_category text, p_subject text) returns governance.status_summary
language sql stable
as $$
  select s from governance.status_summary s where s.category = p_category and s.subject = p_subject order by s.created_at desc, s.summary_id desc limit 1
$$;
