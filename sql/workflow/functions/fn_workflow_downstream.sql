-- promise: the open steps that cannot begin because something before them waits, is blocked, is late, failed or cannot be done; each with
--          the first step that holds it up.
-- callers: chancery_app, auditor_ro
-- One pass over the relations in the order of the steps, as in workflow.critical_path: a recursive query would make a row for each pair.
create or replace function workflow.fn_workflow_downstream(p_workflow_run_id uuid) returns table (step_run_id uuid, held_by uuid)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids uuid[];
  v_holds boolean[];
  v_is_open boolean[];
  v_held_by integer[];
  v_by integer;
  v_way record;
begin
  select array_agg(s.step_run_id order by s.step_no), array_agg(s.state_code in ('waiting', 'blocked', 'overdue', 'failed', 'cannot_complete') order by s.step_no),
         array_agg(s.state_code = 'not_started' and not s.skipped order by s.step_no), array_agg(null::integer)
    into v_ids, v_holds, v_is_open, v_held_by
    from workflow.step_run s where s.workflow_run_id = p_workflow_run_id;
  for v_way in
    select w.from_no, w.to_no from workflow.workflow_run r join workflow.workflow_step_relations w on w.workflow_def_id = r.workflow_def_id
     where r.workflow_run_id = p_workflow_run_id order by w.from_no, w.to_no
  loop
    v_by := case when v_holds[v_way.from_no] then least(v_way.from_no, v_held_by[v_way.from_no]) else v_held_by[v_way.from_no] end;
    if v_by is not null then
      v_held_by[v_way.to_no] := least(v_by, v_held_by[v_way.to_no]);
    end if;
  end loop;
  return query
  select v_ids[n], v_ids[v_held_by[n]] from generate_series(1, cardinality(v_ids)) n where v_is_open[n] and v_held_by[n] is not null order by n;
end
$$;
