-- promise: the person in charge whom the definition names outright: a principal, or who started the run. Null where a class of people is
--          named: then who claims it is in charge.
create or replace function workflow.pic_of(p_work workflow.work) returns text
language sql stable
as $$
  select case
    when d.pic_rule ? 'principal' then d.pic_rule ->> 'principal'
    when d.pic_rule ? 'class' then null
    else p_work.started_by end
    from workflow.def_of(p_work.run_kind, p_work.def_id) d
$$;
