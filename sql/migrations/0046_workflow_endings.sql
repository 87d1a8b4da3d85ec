-- Steps that stand for a sub-workflow are few, and looked for whenever another step of their run ends.
create index step_run_sub_workflow_idx on workflow.step_run (workflow_run_id) where executor_class_ref = 'sub_workflow';

-- A roll-up that says more than a colour is asked for by the policy's row, and by nothing else.
comment on column fsm.rollup_policy_def.policy_config_jsonb is
  'Settings of the policy. "weighted" has "weights" with a number between 0 and 1 for each of red, yellow, green and gray.';
