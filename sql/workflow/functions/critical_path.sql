-- promise: the steps on the longest chain of dependencies that leads to the earliest mandatory step that is not finished. Skipped steps
--          are no part of a chain. Empty when every mandatory step is finished.
-- Arrays instead of a recursive query: steps are numbered along their relations, so one pass over them in that order is enough.
create or replace function workflow.critical_path(p_workflow_run_id uuid) returns integer[]
language plpgsql stable
as $$
declare
  v_def uuid;
  v_target integer;
  v_skipped integer[];
  v_is_skipped boolean[];
  v_length integer[];
  v_before integer[];
  v_way record;
  v_path integer[] := '{}';
begin
  select r.workflow_def_id into v_def from workflow.workflow_run r where r.workflow_run_id = p_workflow_run_id;
  select min(s.step_no) into v_target from workflow.step_run s
   where s.workflow_run_id = p_workflow_run_id and s.mandatory and not s.skipped and s.state_code not in ('completed', 'cancelled');
  if v_target is null then
    return v_path;
  end if;
  v_length := array_fill(1, array[v_target]);
  v_before := array_fill(0, array[v_target]);
  v_is_skipped := array_fill(false, array[v_target]);
  select coalesce(array_agg(s.step_no), '{}') into v_skipped from workflow.step_run s where s.workflow_run_id = p_workflow_run_id and s.skipped and s.step_no <= v_target;
  for v_n in 1 .. cardinality(v_skipped) loop
    v_is_skipped[v_skipped[v_n]] := true;
  end loop;
  for v_way in
    select w.from_no, w.to_no from workflow.workflow_step_relations w where w.workflow_def_id = v_def and w.to_no <= v_target order by w.to_no, w.from_no
  loop
    if not v_is_skipped[v_way.from_no] and v_length[v_way.from_no] + 1 > v_length[v_way.to_no] then
      v_length[v_way.to_no] := v_length[v_way.from_no] + 1;
      v_before[v_way.to_no] := v_way.from_no;
    end if;
  end loop;
  while v_target > 0 loop
    v_path := v_target || v_path;
    v_target := v_before[v_target];
  end loop;
  return v_path;
end
$$;
