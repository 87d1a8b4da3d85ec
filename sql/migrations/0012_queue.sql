-- Locks nothing of yours: makes the rooms of the queue and of governance.
create schema queue;
create schema governance;
grant usage, create on schema queue, governance to chancery_definer, chancery_guard;

alter table fsm.state_machine_def drop constraint machine_scope_is_known;
alter table fsm.state_machine_def add constraint machine_scope_is_known check
  (scope in ('step', 'task', 'workflow_run', 'cut_request', 'orchestrator_run', 'birth_permit', 'job', 'dlq_replay', 'finding', 'custom'));

create table queue.retry_policy_registry (
  policy text primary key,
  max_attempts integer not null,
  base_delay_ms bigint not null,
  factor numeric not null,
  max_delay_ms bigint not null,
  jitter numeric not null,
  description text not null,
  registered_at timestamptz not null,
  constraint retry_policy_is_a_word check (policy ~ '^[a-z][a-z0-9_]*$'),
  constraint retry_tries_at_least_once check (max_attempts between 1 and 1000),
  constraint retry_delays_are_not_negative check (base_delay_ms >= 0 and max_delay_ms >= base_delay_ms and max_delay_ms <= 2592000000),
  constraint retry_delay_does_not_shrink check (factor between 1 and 100),
  constraint retry_jitter_is_a_share check (jitter between 0 and 1)
);
comment on table queue.retry_policy_registry is 'How often and when a failed job is tried again. Data, so that it can be changed without a release.';
insert into queue.retry_policy_registry (policy, max_attempts, base_delay_ms, factor, max_delay_ms, jitter, description, registered_at) values
  ('standard', 5, 1000, 4, 3600000, 0.25, 'Five tries, from a second to an hour apart.', now()),
  ('patient', 20, 5000, 2, 21600000, 0.25, 'Twenty tries over some days, for what other people''s machines do.', now()),
  ('once', 1, 0, 1, 0, 0, 'One try: what must not be repeated without a person''s word.', now());

create table queue.executor_class_registry (
  executor_class text primary key,
  policy text not null references queue.retry_policy_registry (policy),
  lease_seconds integer not null,
  max_payload_bytes integer not null,
  active boolean not null default true,
  description text not null,
  registered_at timestamptz not null,
  constraint executor_class_is_a_word check (executor_class ~ '^[a-z][a-z0-9_]*$'),
  constraint executor_lease_has_a_length check (lease_seconds between 1 and 86400),
  constraint executor_payload_is_small check (max_payload_bytes between 2 and 1048576)
);
comment on table queue.executor_class_registry is 'Who can do jobs: a job names a class, a worker serves one.';
insert into queue.executor_class_registry (executor_class, policy, lease_seconds, max_payload_bytes, description, registered_at) values
  ('noop', 'standard', 30, 16384, 'Does nothing, successfully. For trials and benchmarks.', now()),
  ('command', 'standard', 300, 16384, 'Runs an allow-listed program, without a shell.', now());

-- The live jobs, and those that a person has to look at. What is done leaves for job_finished, so this table stays small.
create table queue.job_queue (
  job_id uuid primary key,
  job_no bigint generated always as identity,
  executor_class text not null,
  job_kind text not null,
  state text not null default 'queued',
  state_machine_id text not null,
  facet text,
  seq bigint not null default 0,
  head_hash bytea,
  priority integer not null default 100,
  scheduled_at timestamptz not null,
  lease_no integer not null default 0,
  lease_owner text,
  lease_until timestamptz,
  picked_at timestamptz,
  attempts integer not null default 0,
  max_attempts integer not null,
  payload_json jsonb not null default '{}',
  payload_ref text,
  source_ref text,
  target_ref text,
  idempotency_key text not null,
  replay_request_id uuid,
  causation_event_id uuid,
  failures jsonb not null default '[]',
  started_by text not null,
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  -- One expression: PostgreSQL reads each check anew in every statement, and what a job is never changes after its birth.
  constraint job_holds_together check (
    (lease_owner is null) = (lease_until is null) and (state not in ('leased', 'in_progress') or lease_owner is not null)
    and (head_hash is null) = (seq = 0))
-- Half of a page is left free: a claim then writes the row's next version beside the first one and touches no index.
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);
-- The state stands in no index, or every claim would have to write them all (docs/decisions/0014-the-queue.md).
create index job_queue_lane_idx on queue.job_queue (executor_class, priority, scheduled_at, job_no);
comment on table queue.job_queue is
  'What must be done. Claims and results move rows in sets along the edges of the job machine; the death of a job and what a person does to it go through the engine.';
comment on column queue.job_queue.lease_no is 'The fencing token: each lease has a higher one, and a result must bring its own.';
comment on column queue.job_queue.seq is '0 while the log knows nothing of the job; its first logged move has seq 2, over a hash made of the id.';
comment on column queue.job_queue.scheduled_at is 'Not before; infinity for what will not run again.';
-- Deliberately no foreign keys: the rows they would lock (a class, a machine, a principal) are the same for every job.

create table queue.lane (
  executor_class text not null,
  priority integer not null,
  low_scheduled_at timestamptz not null default '-infinity',
  low_job_no bigint not null default 0,
  as_of timestamptz not null default '-infinity',
  primary key (executor_class, priority)
) with (fillfactor = 50);
-- A lane that is made in a long transaction keeps others from making it: the usual one is there from the start.
insert into queue.lane (executor_class, priority) values ('noop', 100), ('command', 100);
comment on table queue.lane is
  'Where the claimable jobs of a class and priority begin. A hint that expires: it keeps claims from walking over the traces of done jobs, which nobody can remove while an old snapshot is held.';

create table queue.job_finished (
  job_id uuid not null,
  job_no bigint not null,
  executor_class text not null,
  job_kind text not null,
  state text not null,
  priority integer not null,
  lease_no integer not null,
  lease_owner text not null,
  attempts integer not null,
  payload_json jsonb not null,
  payload_ref text,
  source_ref text,
  target_ref text,
  idempotency_key text not null,
  replay_request_id uuid,
  causation_event_id uuid,
  failures jsonb not null,
  result jsonb not null,
  started_by text not null,
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  picked_at timestamptz not null,
  finished_at timestamptz not null
) partition by range (finished_at);
create index job_finished_job_idx on queue.job_finished (job_id);
comment on table queue.job_finished is 'Jobs that were done, by day, as long as the retention says. A key is known for as long.';
create table queue.job_finished_default partition of queue.job_finished default;

create table queue.job_dead_letter (
  job_id uuid primary key,
  executor_class text not null,
  job_kind text not null,
  classification text not null,
  reason text not null,
  priority integer not null,
  attempts integer not null,
  max_attempts integer not null,
  lease_no integer not null,
  lease_owner text,
  payload internal.canonical_object not null,
  payload_ref text,
  source_ref text,
  target_ref text,
  idempotency_key text not null,
  replay_request_id uuid,
  story internal.canonical_object not null,
  started_by text not null,
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  died_at timestamptz not null,
  row_digest bytea not null,
  constraint dead_letter_reason_is_not_blank check (btrim(reason) <> ''),
  constraint dead_letter_classification_is_known check (classification in ('attempts_exhausted', 'permanent', 'lease_expired'))
);
create index job_dead_letter_died_idx on queue.job_dead_letter (died_at);
comment on table queue.job_dead_letter is 'Jobs that could not be done, with their whole story. Evidence: never removed, also not by a replay.';

create table queue.dlq_replay_request (
  dlq_replay_request_id uuid primary key,
  batch_id uuid not null,
  batch_no integer not null,
  job_id uuid not null references queue.job_dead_letter (job_id),
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  proposal_state text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  reason text not null,
  stagger_ms integer not null,
  approval_id uuid,
  replay_job_id uuid,
  outcome_jsonb jsonb,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint replay_once_in_a_batch unique (batch_id, batch_no),
  constraint replay_says_why check (btrim(reason) <> ''),
  constraint replay_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint replay_stagger_is_not_negative check (stagger_ms between 0 and 3600000),
  constraint replay_has_both_ids check ((approval_id is null) = (replay_job_id is null)),
  constraint replay_trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$' and trace_id !~ '^0{32}$')
) with (fillfactor = 85);
-- One open request for a dead letter at a time.
create unique index replay_one_open_request on queue.dlq_replay_request (job_id) where proposal_state in ('submitted', 'scheduled');
comment on table queue.dlq_replay_request is 'Proposals to run a dead job again. Without an approval by somebody else and a request there is no replay.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('queue.job_dead_letter', '{}', 'jobs that could not be done, with their story'),
  ('queue.dlq_replay_request', '{proposal_state,facet,seq,head_hash,approval_id,replay_job_id,outcome_jsonb,last_transition_at}', 'proposals to replay as they were made; the rest is the log''s');

insert into fsm.run_kind_def (run_kind, scope, table_name, id_column, state_column, parent_column, facts_expression, moved_by_its_room) values
  ('job', 'job', 'queue.job_queue', 'job_id', 'state', null,
   'jsonb_build_object(''executor_class'', r.executor_class, ''job_kind'', r.job_kind, ''attempts'', r.attempts, ''max_attempts'', r.max_attempts)', true),
  ('dlq_replay', 'dlq_replay', 'queue.dlq_replay_request', 'dlq_replay_request_id', 'proposal_state', null,
   'jsonb_build_object(''job_id'', r.job_id, ''batch_id'', r.batch_id, ''approval_id'', r.approval_id)', true);

insert into approval.approval_kind (kind, risk, subject_kind, max_ttl_seconds, description) values
  ('dlq_replay', 'low', 'dlq_replay_batch', 604800, 'Dead jobs of one proposal run again.');

-- The loops of the product act under this name. A service: it decides nothing that a person has to.
insert into identity.principal (name, kind, active, actor_classes, created_at) values
  ('chancery', 'service', true, '{system,executor_worker,mow_orchestrator}', now())
on conflict (name) do nothing;
insert into identity.identity_log (at, login_role, acted_by, action, principal, facts) values
  (now(), session_user, null, 'principal_added', 'chancery',
   '{"kind": "service", "actor_classes": ["system", "executor_worker", "mow_orchestrator"], "by": "release"}');

insert into config.dot_config (key, value, description) values
  ('queue.claim.max_jobs', '5000', 'So many jobs are leased in one call at most.'),
  ('queue.enqueue.max_jobs', '10000', 'So many jobs are taken in one call at most.'),
  ('queue.replay.max_batch', '100', 'So many dead jobs are proposed for replay at once at most.'),
  ('queue.failures.kept', '20', 'So many failures of a job are kept, the newest ones; all are counted.');

update config.dot_config
   set value = value || '["queue.retry_policy_registry","queue.executor_class_registry","queue.job_queue","queue.lane","queue.job_finished","queue.job_finished_*",
                          "queue.job_dead_letter","queue.dlq_replay_request"]'
 where key = 'orchestrator.backup.tables';

-- What a caller asks to have done; the shape of the elements that fn_job_enqueue reads.
create type queue.job_request as (
  class text,
  kind text,
  key text,
  payload jsonb,
  payload_ref text,
  source_ref text,
  target_ref text,
  priority integer,
  run_at timestamptz,
  delay_ms bigint,
  max_attempts integer,
  trace_id text,
  correlation_id text,
  causation_event_id uuid,
  replay_request_id uuid
);

-- What a worker gets. The first row of a turn has no job: it carries what became of the results that were brought.
create type queue.leased_job as (
  job_id uuid,
  job_no bigint,
  lease_no integer,
  job_kind text,
  attempt integer,
  payload_json jsonb,
  payload_ref text,
  source_ref text,
  target_ref text,
  trace_id text,
  correlation_id text,
  lease_until timestamptz,
  priority integer,
  report jsonb
);
