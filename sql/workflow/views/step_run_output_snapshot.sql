create or replace view workflow.step_run_output_snapshot with (security_barrier) as
select o.snapshot_id, o.run_kind, o.run_id, o.cycle_no, o.attempt, o.document, o.document_sha256, o.taken_at
  from workflow.step_run_snapshot o where o.snapshot_kind = 'output';
comment on view workflow.step_run_output_snapshot is 'What steps and tasks gave, each time.';
