-- Locks nothing of yours: makes the room of workflows.
create schema workflow;
grant usage, create on schema workflow to chancery_definer, chancery_guard;

alter table fsm.state_machine_def drop constraint machine_scope_is_known;
alter table fsm.state_machine_def add constraint machine_scope_is_known check
  (scope in ('step', 'task', 'workflow_run', 'cut_request', 'orchestrator_run', 'birth_permit', 'job', 'dlq_replay', 'finding',
             'governance_candidate', 'proposal', 'custom'));

-- Definitions ---------------------------------------------------------------------------------------------------------------------

create table workflow.workflow_registry (
  workflow text primary key,
  current_version integer not null,
  current_def_id uuid not null,
  changed_at timestamptz not null,
  constraint workflow_name_is_a_word check (workflow ~ '^[a-z][a-z0-9_]{0,62}$')
);
comment on table workflow.workflow_registry is 'The workflows that can be started, each with its newest version. Written by a merge and by nothing else.';

create table workflow.workflow_version (
  workflow_def_id uuid primary key,
  workflow text not null,
  version integer not null,
  definition internal.canonical_object not null,
  definition_sha256 bytea not null,
  change_request_id uuid not null,
  merged_by text not null,
  merged_at timestamptz not null,
  row_digest bytea not null,
  constraint workflow_version_counts_up unique (workflow, version),
  constraint workflow_version_is_one_merge unique (change_request_id)
);
comment on table workflow.workflow_version is 'Every version of every workflow, whole. Runs stay on the version they started with.';

create table workflow.workflow_step_def (
  step_def_id uuid primary key,
  workflow_def_id uuid not null references workflow.workflow_version (workflow_def_id),
  step_no integer not null,
  step_key text not null,
  name_en text not null,
  name_vi text not null,
  optional boolean not null,
  milestone boolean not null,
  executor_class text not null,
  sub_workflow_def_id uuid references workflow.workflow_version (workflow_def_id),
  pic_rule jsonb not null,
  precondition jsonpath,
  postcondition jsonpath,
  output_contract jsonb,
  deadline interval,
  retry_policy text not null references queue.retry_policy_registry (policy),
  params jsonb not null,
  reads_outputs text[] not null,
  lane text,
  category text,
  unit_address text,
  joins_and integer not null,
  joins_or integer not null,
  joins_plain integer not null,
  has_tasks boolean not null,
  unique (workflow_def_id, step_no),
  unique (workflow_def_id, step_key)
);
comment on table workflow.workflow_step_def is 'The steps of a version, in an order in which each comes after what it waits for. Made from the definition when it is merged.';
comment on column workflow.workflow_step_def.reads_outputs is 'The steps whose outputs its conditions and parameters name: nothing else is looked up to ask them.';
comment on column workflow.workflow_step_def.joins_and is 'How many relations of each join lead here: all must be taken, one is enough, or all are decided and one is taken.';

create table workflow.workflow_task_def (
  task_def_id uuid primary key,
  step_def_id uuid not null references workflow.workflow_step_def (step_def_id),
  task_no integer not null,
  task_key text not null,
  name_en text not null,
  name_vi text not null,
  executor_class text not null,
  pic_rule jsonb not null,
  precondition jsonpath,
  postcondition jsonpath,
  output_contract jsonb,
  deadline interval,
  retry_policy text not null references queue.retry_policy_registry (policy),
  params jsonb not null,
  reads_outputs text[] not null,
  unique (step_def_id, task_no),
  unique (step_def_id, task_key)
);

create table workflow.workflow_step_relations (
  workflow_def_id uuid not null references workflow.workflow_version (workflow_def_id),
  relation_no integer not null,
  from_no integer not null,
  to_no integer not null,
  relation_kind text not null,
  condition jsonpath,
  reads_outputs text[] not null,
  label_en text,
  label_vi text,
  primary key (workflow_def_id, relation_no),
  constraint relation_kind_is_known check (relation_kind in ('trigger', 'and', 'or', 'condition', 'parallel', 'sub_workflow')),
  constraint relation_goes_forward check (from_no < to_no),
  constraint relation_condition_has_a_rule check ((relation_kind = 'condition') <= (condition is not null))
);
create unique index workflow_relation_out_idx on workflow.workflow_step_relations (workflow_def_id, from_no, to_no);
create index workflow_relation_in_idx on workflow.workflow_step_relations (workflow_def_id, to_no);
comment on constraint relation_goes_forward on workflow.workflow_step_relations is 'Steps are numbered along their relations, so a cycle cannot be stored.';

create table workflow.workflow_step_permission (
  step_def_id uuid not null references workflow.workflow_step_def (step_def_id),
  actor_class text not null references identity.actor_class (code),
  primary key (step_def_id, actor_class)
);
comment on table workflow.workflow_step_permission is 'Who sees the step. A step without a row is seen by everyone.';

-- Proposals -----------------------------------------------------------------------------------------------------------------------

create table workflow.workflow_change_requests (
  change_request_id uuid primary key,
  workflow text not null,
  base_version integer,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  proposal_state text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  title text not null,
  approval_id uuid,
  merged_def_id uuid references workflow.workflow_version (workflow_def_id),
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint change_request_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint change_request_title_is_not_blank check (btrim(title) <> ''),
  constraint change_request_merged_has_a_version check (proposal_state <> 'merged' or merged_def_id is not null)
) with (fillfactor = 85);
create index change_request_workflow_idx on workflow.workflow_change_requests (workflow, created_at);
create index change_request_approval_idx on workflow.workflow_change_requests (approval_id) where approval_id is not null;
comment on column workflow.workflow_change_requests.base_version is 'The version that the change was written against; null for a new workflow.';

create table workflow.change_revision (
  change_request_id uuid not null references workflow.workflow_change_requests (change_request_id),
  revision_no integer not null,
  definition internal.canonical_object not null,
  definition_sha256 bytea not null,
  written_by text not null,
  written_at timestamptz not null,
  row_digest bytea not null,
  primary key (change_request_id, revision_no)
);
comment on table workflow.change_revision is 'What was proposed, each time it was written. The newest one is handed in.';

create table governance.proposal (
  proposal_id uuid primary key,
  proposal_kind text not null,
  proposer_class text not null,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  proposal_state text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  title text not null,
  affected_iu_ids uuid[] not null,
  proposed_action internal.canonical_object not null,
  action_sha256 bytea not null,
  approval_id uuid,
  outcome jsonb,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint proposal_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint proposal_title_is_not_blank check (btrim(title) <> '')
) with (fillfactor = 85);
create index proposal_created_idx on governance.proposal (created_at);
create index proposal_approval_idx on governance.proposal (approval_id) where approval_id is not null;
comment on table governance.proposal is 'Proposals that are not about workflows. The knowledge graph writes here and never into a registry.';

create table governance.iu_usage_evidence (
  evidence_id uuid primary key,
  proposal_id uuid not null references governance.proposal (proposal_id),
  iu_id uuid,
  evidence_kind text not null,
  facts internal.canonical_object not null,
  recorded_at timestamptz not null,
  row_digest bytea not null
);
create index iu_usage_evidence_proposal_idx on governance.iu_usage_evidence (proposal_id);
comment on table governance.iu_usage_evidence is 'What a proposal rests on: uses of units that somebody observed.';

-- Runs ----------------------------------------------------------------------------------------------------------------------------

create table workflow.workflow_run (
  workflow_run_id uuid primary key,
  workflow_def_id uuid not null references workflow.workflow_version (workflow_def_id),
  workflow text not null,
  workflow_class text not null,
  inputs internal.canonical_object not null,
  parent_step_run_id uuid,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  state_code text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  rollup_state_code text not null default 'gray',
  red_count integer not null default 0,
  yellow_count integer not null default 0,
  green_count integer not null default 0,
  skipped_count integer not null default 0,
  optional_excluded_count integer not null default 0,
  mandatory_count integer not null default 0,
  completed_count integer not null default 0,
  decisive_step_run_id uuid,
  decisive_state_code text,
  last_rollup_at timestamptz,
  frozen_at timestamptz,
  critical_due boolean not null default false,
  row_digest bytea not null,
  constraint workflow_run_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint workflow_run_trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$' and trace_id !~ '^0{32}$'),
  constraint workflow_run_colour_is_known check (rollup_state_code in ('gray', 'green', 'yellow', 'red')),
  constraint workflow_run_counts_are_whole check (least(red_count, yellow_count, green_count, skipped_count, optional_excluded_count, mandatory_count, completed_count) >= 0)
) with (fillfactor = 50);
create index workflow_run_created_idx on workflow.workflow_run (created_at);
create index workflow_run_parent_idx on workflow.workflow_run (parent_step_run_id) where parent_step_run_id is not null;
comment on table workflow.workflow_run is 'One run of one version of a workflow. Its colour is kept by counts, so a step''s move costs the same in a long run as in a short one.';
comment on column workflow.workflow_run.mandatory_count is 'Mandatory steps that are not skipped; when all of them are completed the run is.';

create table workflow.step_run (
  step_run_id uuid primary key,
  workflow_run_id uuid not null references workflow.workflow_run (workflow_run_id),
  step_def_id uuid not null,
  step_no integer not null,
  step_key text not null,
  mandatory boolean not null,
  state_machine_id text not null,
  state_code text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  started_by text not null,
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  -- what led here
  and_open integer not null,
  or_open integer not null,
  plain_open integer not null,
  or_taken boolean not null default false,
  plain_taken boolean not null default false,
  and_missed boolean not null default false,
  awaits_precondition boolean not null default false,
  skipped boolean not null default false,
  -- the work
  pic_id text,
  executor_class_ref text not null,
  pinned_iu_version_id uuid,
  started_at timestamptz,
  deadline timestamptz,
  overdue_first_at timestamptz,
  completed_at timestamptz,
  completion_actor_id text,
  completed_after_deadline boolean not null default false,
  sla_breach_duration interval,
  blocked_since timestamptz,
  block_reason text,
  block_escalated_at timestamptz,
  failure_classification text,
  failure_class text,
  retry_count integer not null default 0,
  retry_limit integer not null,
  cycle_no integer not null default 0,
  output_snapshot_id uuid,
  work_no integer not null default 0,
  event_facts jsonb,
  -- the roll-up
  on_critical_path boolean not null default false,
  rollup_class text not null,
  decisive_rank integer,
  constraint step_run_one_a_step unique (workflow_run_id, step_no),
  constraint step_run_key_is_one_step unique (workflow_run_id, step_key),
  -- One expression: PostgreSQL prepares each check anew in every statement.
  constraint step_run_holds_together check (
    (head_hash is null) = (seq = 0)
    and (state_code = 'waiting') = (facet is not null)
    and (state_code <> 'blocked' or (blocked_since is not null and block_reason is not null))
    and (completed_at is null) = (completion_actor_id is null)
    and (state_code <> 'completed' or completed_at is not null)
    and (not completed_after_deadline or sla_breach_duration is not null)
    and rollup_class in ('none', 'gray', 'green', 'yellow', 'red'))
) with (fillfactor = 50);
create index step_run_decisive_idx on workflow.step_run (workflow_run_id, decisive_rank, step_no) where decisive_rank is not null;
create index step_run_pending_idx on workflow.step_run (workflow_run_id) where awaits_precondition;
comment on column workflow.step_run.facet is 'The primary facet of a wait, waiting_facet in the views; all of them stand in workflow.wait.';
comment on column workflow.step_run.blocked_since is 'Since when it is blocked, or was blocked last.';
comment on column workflow.step_run.rollup_class is 'What the step adds to the colour of its run now; none for an optional or skipped one.';
comment on column workflow.step_run.work_no is 'How many jobs were made for it; the key of the next one.';
comment on column workflow.step_run.event_facts is 'What the event of the move from this seq says besides what its actor said: facts that only the database knows.';

create table workflow.task_run (
  task_run_id uuid primary key,
  step_run_id uuid not null references workflow.step_run (step_run_id),
  workflow_run_id uuid not null,
  task_def_id uuid not null,
  task_no integer not null,
  task_key text not null,
  state_machine_id text not null,
  state_code text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  started_by text not null,
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  skipped boolean not null default false,
  pic_id text,
  executor_class_ref text not null,
  pinned_iu_version_id uuid,
  started_at timestamptz,
  deadline timestamptz,
  overdue_first_at timestamptz,
  completed_at timestamptz,
  completion_actor_id text,
  completed_after_deadline boolean not null default false,
  sla_breach_duration interval,
  blocked_since timestamptz,
  block_reason text,
  block_escalated_at timestamptz,
  failure_classification text,
  failure_class text,
  retry_count integer not null default 0,
  retry_limit integer not null,
  cycle_no integer not null default 0,
  output_snapshot_id uuid,
  work_no integer not null default 0,
  event_facts jsonb,
  constraint task_run_one_a_task unique (step_run_id, task_no),
  constraint task_run_holds_together check (
    (head_hash is null) = (seq = 0)
    and (state_code = 'waiting') = (facet is not null)
    and (state_code <> 'blocked' or (blocked_since is not null and block_reason is not null))
    and (completed_at is null) = (completion_actor_id is null)
    and (state_code <> 'completed' or completed_at is not null)
    and (not completed_after_deadline or sla_breach_duration is not null))
) with (fillfactor = 50);
create index task_run_run_idx on workflow.task_run (workflow_run_id);
comment on table workflow.task_run is 'Tasks of a step: the same life as a step, without a place in the graph and the roll-up.';

-- Evidence of runs ----------------------------------------------------------------------------------------------------------------

create table workflow.relation_outcome (
  workflow_run_id uuid not null references workflow.workflow_run (workflow_run_id),
  relation_no integer not null,
  taken boolean not null,
  decided_at timestamptz not null,
  primary key (workflow_run_id, relation_no)
);
comment on table workflow.relation_outcome is 'Which ways were taken. A relation is decided once.';

create table workflow.step_run_snapshot (
  snapshot_id uuid primary key,
  run_kind text not null,
  run_id uuid not null,
  snapshot_kind text not null,
  cycle_no integer not null,
  attempt integer not null,
  document internal.canonical_object not null,
  document_sha256 bytea not null,
  taken_at timestamptz not null,
  row_digest bytea not null,
  constraint snapshot_kind_is_known check (snapshot_kind in ('input', 'output'))
);
create index step_run_snapshot_run_idx on workflow.step_run_snapshot (run_id, taken_at);
comment on table workflow.step_run_snapshot is 'What a step or task got to work with and what it gave, each time (MOIT and MOUT).';

create table workflow.step_run_correction_cycle (
  run_id uuid not null,
  cycle_no integer not null,
  run_kind text not null,
  prior_state text not null,
  prior_audit_id uuid not null,
  prior_actor text not null,
  prior_at timestamptz not null,
  prior_key_id uuid,
  original_output_snapshot_id uuid references workflow.step_run_snapshot (snapshot_id),
  correction_reason text not null,
  approval_id uuid not null,
  reopened_by text not null,
  reopened_at timestamptz not null,
  completed_at timestamptz,
  completion_actor_id text,
  output_snapshot_id uuid references workflow.step_run_snapshot (snapshot_id),
  row_digest bytea not null,
  primary key (run_id, cycle_no),
  constraint cycle_prior_state_is_closed check (prior_state in ('completed', 'cannot_complete')),
  constraint cycle_keeps_the_output check (prior_state <> 'completed' or original_output_snapshot_id is not null)
);
comment on table workflow.step_run_correction_cycle is 'How something closed was opened again: how it had ended, on whose approval, and how it ended then. The first ending stays on the run.';
comment on column workflow.step_run_correction_cycle.prior_audit_id is 'The log row of the ending that was reopened.';

create table workflow.step_decision (
  decision_id uuid primary key,
  run_kind text not null,
  run_id uuid not null,
  decision_kind text not null,
  facts internal.canonical_object not null,
  principal text not null,
  actor_class text not null,
  approval_id uuid,
  idempotency_key text not null,
  decided_at timestamptz not null,
  row_digest bytea not null,
  constraint decision_key_used_once_a_run unique (run_id, idempotency_key),
  constraint decision_kind_is_known check (decision_kind in ('deadline_extended', 'block_escalated'))
);
comment on table workflow.step_decision is 'What people decided about a run without moving it: another deadline, a block that is more than it looks.';

create table workflow.wait (
  wait_id uuid primary key,
  run_kind text not null,
  run_id uuid not null,
  workflow_run_id uuid not null,
  facet text not null,
  subject_kind text,
  subject_ref text,
  until timestamptz,
  token_sha256 bytea,
  cycle_no integer not null,
  attempt integer not null,
  issued_at timestamptz not null,
  opened boolean not null,
  resolved_at timestamptz,
  resolved_by text,
  proof internal.canonical_object,
  row_digest bytea not null,
  constraint wait_token_is_one_wait unique (token_sha256),
  constraint wait_facet_is_known check (facet in ('waiting_dependency', 'waiting_human', 'waiting_external', 'waiting_time_gate')),
  constraint wait_names_what_it_waits_for check (
    case facet when 'waiting_time_gate' then until is not null else num_nonnulls(subject_ref, token_sha256) > 0 end),
  constraint wait_resolved_with_proof check ((resolved_at is null) = (proof is null) and (resolved_at is null) = (resolved_by is null))
);
create index wait_open_idx on workflow.wait (run_id) where resolved_at is null;
create index wait_run_idx on workflow.wait (workflow_run_id) where resolved_at is null;
create index wait_subject_idx on workflow.wait (subject_kind, subject_ref) where resolved_at is null and subject_ref is not null;
comment on table workflow.wait is 'What a step or task waits for, one row each, with the proof that it came. A call-back is known by the digest of its token only.';

-- What people note while they work. Nothing is decided by it, so it is no evidence; it is never rewritten either.
create table workflow.task_checkpoints (
  run_id uuid not null,
  checkpoint_no integer not null,
  run_kind text not null,
  cycle_no integer not null,
  label text not null,
  facts jsonb not null,
  principal text not null references identity.principal (name),
  idempotency_key text not null,
  reached_at timestamptz not null,
  primary key (run_id, checkpoint_no),
  constraint checkpoint_key_used_once_a_run unique (run_id, idempotency_key),
  constraint checkpoint_label_is_not_blank check (btrim(label) <> '')
);
comment on table workflow.task_checkpoints is 'How far somebody or a worker has come with a task or step: what to go on from after a crash.';

create table workflow.task_comments (
  run_id uuid not null,
  comment_no integer not null,
  run_kind text not null,
  principal text not null references identity.principal (name),
  body text not null,
  idempotency_key text not null,
  written_at timestamptz not null,
  primary key (run_id, comment_no),
  constraint comment_key_used_once_a_run unique (run_id, idempotency_key),
  constraint comment_is_not_blank check (btrim(body) <> '')
);
comment on table workflow.task_comments is 'What people say about a task or step.';

-- Not evidence: what the loops have to do.
create table workflow.agenda (
  agenda_no bigint generated always as identity primary key,
  workflow_run_id uuid not null,
  cause text not null,
  run_id uuid,
  not_before timestamptz not null default '-infinity',
  tries integer not null default 0,
  constraint agenda_cause_is_known check (cause in ('started', 'decided', 'bridge', 'approval', 'job_died', 'critical'))
);
create index agenda_run_idx on workflow.agenda (workflow_run_id, agenda_no);
create index agenda_due_idx on workflow.agenda (not_before, agenda_no);
comment on table workflow.agenda is 'What happened in a run that the loop has to act on; written with the move, removed with the deed.';

create table workflow.timer (
  timer_id uuid primary key,
  due_at timestamptz not null,
  timer_kind text not null,
  run_kind text not null,
  run_id uuid not null,
  workflow_run_id uuid,
  tries integer not null default 0,
  constraint timer_one_of_a_kind unique (run_id, timer_kind),
  constraint timer_kind_is_known check (timer_kind in ('deadline', 'time_gate', 'block_threshold', 'approval_expiry'))
);
create index timer_due_idx on workflow.timer (due_at);
comment on table workflow.timer is 'What is to happen by the clock of the database, one row for a kind and a run.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('workflow.workflow_version', '{}', 'versions of workflows'),
  ('workflow.workflow_change_requests', '{proposal_state,facet,seq,head_hash,approval_id,merged_def_id,last_transition_at}', 'proposals to change a workflow as they were begun; the rest is the log''s'),
  ('workflow.change_revision', '{}', 'what was proposed'),
  ('governance.proposal', '{proposal_state,facet,seq,head_hash,approval_id,outcome,last_transition_at}', 'proposals as they were made; the rest is the log''s'),
  ('governance.iu_usage_evidence', '{}', 'what proposals rest on'),
  ('workflow.workflow_run', '{state_code,facet,seq,head_hash,last_transition_at,rollup_state_code,red_count,yellow_count,green_count,skipped_count,optional_excluded_count,mandatory_count,completed_count,decisive_step_run_id,decisive_state_code,last_rollup_at,frozen_at,critical_due}', 'runs as they were started; the rest is the log''s and the roll-up''s'),
  ('workflow.step_run_snapshot', '{}', 'what steps and tasks got and gave'),
  ('workflow.step_run_correction_cycle', '{completed_at,completion_actor_id,output_snapshot_id}', 'what was opened again, and why'),
  ('workflow.step_decision', '{}', 'deadlines and escalations that people decided on'),
  ('workflow.wait', '{opened,resolved_at,resolved_by,proof}', 'what was waited for');

insert into fsm.run_kind_def (run_kind, scope, table_name, id_column, state_column, parent_column, facts_expression, moved_by_its_room) values
  ('workflow_run', 'workflow_run', 'workflow.workflow_run', 'workflow_run_id', 'state_code', null,
   'jsonb_build_object(''workflow'', r.workflow, ''workflow_def_id'', r.workflow_def_id, ''mandatory_count'', r.mandatory_count, ''completed_count'', r.completed_count)', true),
  ('step', 'step', 'workflow.step_run', 'step_run_id', 'state_code', null,
   'jsonb_build_object(''workflow_run_id'', r.workflow_run_id, ''step_key'', r.step_key, ''event'', case when r.event_facts -> ''seq'' = to_jsonb(r.seq) then r.event_facts - ''seq'' end)', true),
  ('task', 'task', 'workflow.task_run', 'task_run_id', 'state_code', null,
   'jsonb_build_object(''workflow_run_id'', r.workflow_run_id, ''step_run_id'', r.step_run_id, ''task_key'', r.task_key, ''event'', case when r.event_facts -> ''seq'' = to_jsonb(r.seq) then r.event_facts - ''seq'' end)', true),
  ('workflow_change', 'proposal', 'workflow.workflow_change_requests', 'change_request_id', 'proposal_state', null,
   'jsonb_build_object(''workflow'', r.workflow, ''base_version'', r.base_version)', true),
  ('proposal', 'proposal', 'governance.proposal', 'proposal_id', 'proposal_state', null,
   'jsonb_build_object(''proposal_kind'', r.proposal_kind)', true);

insert into fsm.lock_target_def (target, lock_fn, description) values
  ('upstream', 'workflow.lock_run', 'The run that the step is of: no other step of it moves meanwhile.'),
  ('tasks', 'workflow.lock_run', 'The run that the step is of: no task of it moves meanwhile.'),
  ('steps', 'workflow.lock_run', 'The run itself: no step of it moves meanwhile.'),
  ('sub_run', 'workflow.lock_sub_run', 'The run of the sub-workflow that the step stands for.');

insert into approval.approval_kind (kind, risk, subject_kind, max_ttl_seconds, description) values
  ('workflow_change', 'medium', 'workflow_change', 2592000, 'A proposed version of a workflow becomes the one that new runs use.'),
  ('workflow_cancel', 'medium', 'workflow_run', 604800, 'A run of a workflow is called off.'),
  ('step_cancel', 'medium', 'step', 604800, 'A step or task is called off.'),
  ('step_reopen', 'medium', 'step', 604800, 'A closed step or task is opened again for correction.'),
  ('block_escalation', 'low', 'step', 604800, 'A block that lasts long counts as red.'),
  ('proposal', 'medium', 'proposal', 2592000, 'What was proposed is carried out.');

insert into queue.executor_class_registry (executor_class, policy, lease_seconds, max_payload_bytes, description, registered_at) values
  ('http', 'standard', 60, 16384, 'Calls a URL with an idempotency key; the answer comes at once or by a call-back.', now()),
  ('cutter', 'patient', 300, 16384, 'Drives a run of the orchestrator and waits at its gates.', now())
on conflict do nothing;
insert into queue.lane (executor_class, priority) values ('http', 100), ('cutter', 100) on conflict do nothing;

create table workflow.failure_class_registry (
  failure_class text primary key,
  classification text not null,
  description text not null,
  constraint failure_class_is_a_word check (failure_class ~ '^[a-z][a-z0-9_]*$'),
  constraint failure_classification_is_known check (classification in ('transient', 'permanent'))
);
comment on table workflow.failure_class_registry is 'How work fails, and whether trying again can help.';
insert into workflow.failure_class_registry (failure_class, classification, description) values
  ('timeout', 'transient', 'No answer came in time.'),
  ('unavailable', 'transient', 'The other side could not be reached or asked to come back later.'),
  ('lease_lost', 'transient', 'The worker stopped or lost its lease.'),
  ('unclassified', 'transient', 'Nobody said why.'),
  ('bad_request', 'permanent', 'The other side refuses what was asked.'),
  ('bad_output', 'permanent', 'The output does not meet the contract.'),
  ('not_allowed', 'permanent', 'The program or address is not on the allow-list.'),
  ('attempts_exhausted', 'permanent', 'Every try that the policy allows was used.'),
  ('rejected', 'permanent', 'A person decided against it.');

insert into config.dot_config (key, value, description) values
  ('workflow.max_steps', '50000', 'A definition has at most this many steps.'),
  ('workflow.output.max_bytes', '65536', 'The output of a step or task, and the inputs of a run, are at most this big.'),
  ('workflow.turn.max_steps', '200', 'So many steps are moved by one turn of the loop at most; the rest comes with the next one.'),
  ('workflow.critical_path.every_ms', '1000', 'The critical path of a run is computed anew at most this often.'),
  ('workflow.hold_seconds', '5', 'A worker looks again after this long when the run of its job is on hold.'),
  ('block_severity.threshold_seconds.default', '14400', 'A block counts as red after this long, for workflow classes without a row of their own.'),
  ('block_severity.approval_after_seconds.default', '28800', 'A block that is older is escalated by hand only with an approval.'),
  ('vocab.block_reason.missing_iu', '"A unit is missing."', 'A reason to block.'),
  ('vocab.block_reason.missing_approval', '"An approval is missing."', 'A reason to block.'),
  ('vocab.block_reason.config_error', '"A setting is wrong or missing."', 'A reason to block.'),
  ('vocab.block_reason.missing_input', '"Something to work with is missing."', 'A reason to block.'),
  ('vocab.correction_reason.data_error', '"The data was wrong."', 'A reason to open something closed again.'),
  ('vocab.correction_reason.policy_change', '"The rules changed."', 'A reason to open something closed again.'),
  ('vocab.correction_reason.downstream_dependency_failed', '"What came after it failed because of it."', 'A reason to open something closed again.'),
  ('vocab.correction_reason.regulatory_recall', '"An authority asked for it."', 'A reason to open something closed again.'),
  ('vocab.proposal_kind.kg_edge', '"An edge of the knowledge graph."', 'What can be proposed.'),
  ('vocab.proposal_kind.iu_bundle', '"Units become a bundle."', 'What can be proposed.'),
  ('vocab.proposal_kind.iu_split', '"A unit is split."', 'What can be proposed.'),
  ('vocab.proposal_kind.iu_merge', '"Units are merged."', 'What can be proposed.'),
  ('vocab.proposal_kind.iu_reparent', '"A unit moves to another place."', 'What can be proposed.'),
  ('vocab.proposal_kind.template_change', '"A template changes."', 'What can be proposed.'),
  ('vocab.proposal_kind.field_change', '"A field changes."', 'What can be proposed.'),
  ('vocab.proposal_kind.view_change', '"A view changes."', 'What can be proposed.'),
  ('vocab.proposal_kind.no_action', '"Nothing is to be done, and why."', 'What can be proposed.');

update config.dot_config
   set value = value || '["workflow.workflow_registry","workflow.workflow_version","workflow.workflow_step_def","workflow.workflow_task_def",
                          "workflow.workflow_step_relations","workflow.workflow_step_permission","workflow.workflow_change_requests","workflow.change_revision",
                          "workflow.workflow_run","workflow.step_run","workflow.task_run","workflow.relation_outcome","workflow.step_run_snapshot",
                          "workflow.step_run_correction_cycle","workflow.step_decision","workflow.wait","workflow.task_checkpoints","workflow.task_comments","workflow.agenda","workflow.timer",
                          "governance.proposal","governance.iu_usage_evidence"]'
 where key = 'orchestrator.backup.tables';

-- A step or a task, as the doors of this room work on it: they share one life.
create type workflow.work as (
  run_kind text,
  run_id uuid,
  workflow_run_id uuid,
  step_run_id uuid,
  def_id uuid,
  key text,
  mandatory boolean,
  state_code text,
  seq bigint,
  cycle_no integer,
  skipped boolean,
  pic_id text,
  executor_class_ref text,
  pinned_iu_version_id uuid,
  started_at timestamptz,
  deadline timestamptz,
  overdue_first_at timestamptz,
  completed_at timestamptz,
  completion_actor_id text,
  completed_after_deadline boolean,
  sla_breach_duration interval,
  blocked_since timestamptz,
  block_reason text,
  block_escalated_at timestamptz,
  failure_classification text,
  failure_class text,
  retry_count integer,
  retry_limit integer,
  output_snapshot_id uuid,
  work_no integer,
  event_facts jsonb,
  on_critical_path boolean,
  rollup_class text,
  started_by text,
  trace_id text,
  correlation_id text
);

-- What the definition says about a step or a task, in one shape.
create type workflow.work_def as (
  executor_class text,
  sub_workflow_def_id uuid,
  pic_rule jsonb,
  precondition jsonpath,
  postcondition jsonpath,
  output_contract jsonb,
  deadline interval,
  retry_policy text,
  params jsonb,
  reads_outputs text[],
  unit_address text,
  has_tasks boolean,
  optional boolean
);
