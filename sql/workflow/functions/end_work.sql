-- promise: the output is kept, meets its contract, and is the one whose digest the evidence names; the first ending, and how late it was,
--          stands on the row for ever, a later one on the cycle of its correction.
-- refuses with: RW008, RW009
create or replace function workflow.end_work(p_work workflow.work, p_evidence jsonb, p_output jsonb, p_principal text) returns workflow.work
language plpgsql
as $$
declare
  v_def workflow.work_def := workflow.def_of(p_work.run_kind, p_work.def_id);
  v_problems jsonb;
begin
  perform workflow.require_document('output', p_output, p_evidence ->> 'output_sha256');
  if v_def.output_contract is not null then
    v_problems := event.value_problems(v_def.output_contract, p_output);
    if v_problems <> '[]' then
      perform internal.refuse(internal.problem('RW008', jsonb_build_object('run_id', p_work.run_id, 'key', p_work.key, 'breaks', v_problems)));
    end if;
  end if;
  perform workflow.snapshot(p_work, 'output', p_output);
  p_work.output_snapshot_id := workflow.snapshot_id(p_work, 'output');
  return workflow.note_ending(p_work, p_principal);
end
$$;
