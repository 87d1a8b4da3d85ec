-- owner: chancery_guard
-- promise: true when the output of this very move is kept, is the one that the evidence names, and meets its contract
create or replace function workflow.guard_output_contract(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
  v_output record;
  v_def workflow.work_def := workflow.def_of(v_work.run_kind, v_work.def_id);
begin
  select o.document::jsonb as document, encode(o.document_sha256, 'hex') as sha256 into v_output
    from workflow.step_run_snapshot o where o.snapshot_id = workflow.snapshot_id(v_work, 'output') and o.run_id = v_work.run_id;
  return v_work.output_snapshot_id = workflow.snapshot_id(v_work, 'output') and v_output.sha256 = p_context #>> '{evidence,output_sha256}'
     and (v_def.output_contract is null or event.value_problems(v_def.output_contract, v_output.document) = '[]');
end
$$;
