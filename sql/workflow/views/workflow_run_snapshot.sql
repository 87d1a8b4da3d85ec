create or replace view workflow.workflow_run_snapshot with (security_barrier) as
select r.workflow_run_id, r.workflow, r.state_code, r.rollup_state_code,
       workflow.fn_workflow_rollup_compute(r.workflow_run_id) -> 'basis_step_run_ids' as rollup_basis_jsonb, r.last_rollup_at,
       workflow.fn_workflow_run_snapshot(r.workflow_run_id) as snapshot
  from workflow.workflow_run r;
comment on view workflow.workflow_run_snapshot is
  'A run as it stands, for those who read relations: the steps its colour rests on, and what workflow.fn_workflow_run_snapshot says. Ask for one run: each row is computed.';
