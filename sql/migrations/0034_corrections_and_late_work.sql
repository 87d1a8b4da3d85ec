-- Locks workflow.step_run and workflow.step_run_correction_cycle briefly: what a corrected sub-workflow left behind is marked on the step that
-- stands for it, and corrections that are under way are found without a look at all that ever were.
alter table workflow.step_run add column stale_since timestamptz;
comment on column workflow.step_run.stale_since is
  'Since when the run of its sub-workflow is being corrected, or was, after the step was completed: its output is of before.';
create index step_run_correction_open_idx on workflow.step_run_correction_cycle (run_id) where completed_at is null;

insert into workflow.failure_class_registry (failure_class, classification, description) values
  ('refused', 'transient', 'A rule did not let the result in.');
