-- promise: whether a principal holds the class of people that the definition puts in charge.
create or replace function workflow.may_be_pic(p_work workflow.work, p_principal text) returns boolean
language sql stable
as $$
  select exists (
    select from workflow.def_of(p_work.run_kind, p_work.def_id) d, identity.principal p
     where d.pic_rule ? 'class' and p.name = p_principal and p.active and d.pic_rule ->> 'class' = any (p.actor_classes))
$$;
