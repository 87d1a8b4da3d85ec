-- promise: the steps that have not begun because something before them waits, is blocked, is late, failed or cannot be done; each with the
--          first step that holds it up. A way that is decided holds nothing up any more, nor does what was before a step that has begun.
-- callers: chancery_app, auditor_ro
-- Arrays instead of a recursive query: steps are numbered along their relations, so one pass over them in that order is enough.
create or replace function workflow.fn_workflow_downstream(p_workflow_run_id uuid) returns table (step_run_id uuid, held_by uuid)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids uuid[];
  v_open boolean[];
  v_holder integer[];
  v_def uuid;
  v_way record;
begin
  select r.workflow_def_id into v_def from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  select array_agg(s.step_run_id order by s.step_no), array_agg(s.state_code = 'not_started' and not s.skipped order by s.step_no),
         array_agg(case when s.state_code in ('waiting', 'blocked', 'overdue', 'failed', 'cannot_complete') then s.step_no end order by s.step_no)
    into v_ids, v_open, v_holder
    from workflow.step_run s where s.workflow_run_id = p_workflow_run_id;
  for v_way in
    select w.from_no, w.to_no from workflow.workflow_step_relations w
     where w.workflow_def_id = v_def
       and not exists (select from workflow.relation_outcome o where o.workflow_run_id = p_workflow_run_id and o.relation_no = w.relation_no)
     order by w.to_no, w.from_no
  loop
    -- What holds up a step that has begun is the step itself, if anything.
    if v_open[v_way.to_no] then
      v_holder[v_way.to_no] := least(v_holder[v_way.to_no], v_holder[v_way.from_no]);
    end if;
  end loop;
  return query
  select v_ids[n.no], v_ids[v_holder[n.no]] from generate_subscripts(v_ids, 1) n (no) where v_open[n.no] and v_holder[n.no] is not null order by n.no;
end
$$;
