-- What a move has to bring, where its transition says so, and what a run is started with, where its machine does.
alter table fsm.transition_def add column evidence_schema jsonb;
comment on column fsm.transition_def.evidence_schema is
  'The shape of the evidence of this move, in the subset of JSON Schema; null where nothing is said about it.';
alter table fsm.state_machine_def add column data_schema jsonb;
comment on column fsm.state_machine_def.data_schema is
  'The shape of what a run is started with, in the subset of JSON Schema; null where nothing is said about it.';

-- A step whose way on cannot be answered stays on the agenda until a new output may answer it.
alter table workflow.agenda drop constraint agenda_cause_is_known;
alter table workflow.agenda add constraint agenda_cause_is_known
  check (cause in ('started', 'decided', 'unanswered', 'bridge', 'approval', 'job_died', 'critical'));
