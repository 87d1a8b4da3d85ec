-- promise: the work has a person in charge, its unit is pinned as it is now, and the time of its start stands.
-- refuses with: RW022
create or replace function workflow.begin_work(p_work workflow.work, p_principal text, p_actor_class text) returns workflow.work
language plpgsql stable
as $$
declare
  v_address text;
begin
  if p_work.pic_id is null and p_actor_class in ('pic_human', 'task_pic_human') and workflow.may_be_pic(p_work, p_principal) then
    p_work.pic_id := p_principal;
  end if;
  p_work.started_at := coalesce(p_work.started_at, internal.now());
  if p_work.pinned_iu_version_id is null and p_work.run_kind = 'step' then
    select d.unit_address into v_address from workflow.workflow_step_def d where d.step_def_id = p_work.def_id;
    if v_address is not null then
      select u.version_anchor_ref into p_work.pinned_iu_version_id
        from iu.information_unit u where u.canonical_address = v_address and u.deleted_at is null;
      if not found then
        perform internal.refuse(internal.problem('RW022', jsonb_build_object('unit', v_address, 'step', p_work.key)));
      end if;
    end if;
  end if;
  return p_work;
end
$$;
