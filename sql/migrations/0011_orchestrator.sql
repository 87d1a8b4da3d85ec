-- Locks nothing of yours: makes the room of the orchestrator.
create schema orchestrator;
grant usage, create on schema orchestrator to chancery_definer, chancery_guard;

create table orchestrator.run (
  run_id uuid primary key,
  run_name text not null unique,
  state_machine_id text not null references fsm.state_machine_def (state_machine_id),
  state_code text not null,
  facet text,
  seq bigint not null,
  head_hash bytea,
  document_id text not null references iu.source_document (document_id),
  source_version_id uuid not null references iu.source_version (source_version_id),
  entry_id uuid not null unique,
  started_by text not null references identity.principal (name),
  trace_id text not null,
  correlation_id text not null,
  created_at timestamptz not null,
  last_transition_at timestamptz not null,
  row_digest bytea not null,
  constraint orchestrator_run_head_hash_iff_born check ((head_hash is null) = (seq = 0)),
  constraint orchestrator_run_trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$' and trace_id !~ '^0{32}$'),
  constraint orchestrator_run_name_is_time_and_id check (
    run_name ~ '^ictr-[0-9]{8}T[0-9]{6}Z-[0-9a-f-]{36}$' and substr(run_name, 23) = run_id::text)
) with (fillfactor = 85);
-- A failed or stopped run keeps its document until the sovereign voids it: nobody starts over beside what is not understood.
create unique index orchestrator_run_one_live on orchestrator.run (document_id) where state_code <> all ('{closeout_reported,voided_sovereign}');
create index orchestrator_run_source_idx on orchestrator.run (source_version_id);
comment on table orchestrator.run is
  'One end-to-end run over one document. The database knows where it stands; the sidecar file is its working copy.';
comment on column orchestrator.run.entry_id is 'The request that the run drives. It is marked by the run, so it has no foreign key.';

create table orchestrator.backup_key (
  pinned_at timestamptz not null,
  fingerprint text not null,
  public_key text not null,
  pinned_by text not null,
  pin_seq integer primary key,
  row_digest bytea not null,
  constraint backup_key_fingerprint_is_v4 check (fingerprint ~ '^[0-9A-F]{40}$')
);
comment on table orchestrator.backup_key is 'The public OpenPGP keys that backups were encrypted to; the newest one holds.';

insert into audit.evidence_def (table_name, mutable_columns, description) values
  ('orchestrator.run', '{state_code,facet,seq,head_hash,last_transition_at}', 'runs as they were started; the rest is the log''s'),
  ('orchestrator.backup_key', '{}', 'keys that backups are encrypted to');

insert into fsm.run_kind_def (run_kind, scope, table_name, id_column, state_column, parent_column, facts_expression, moved_by_its_room) values
  ('orchestrator_run', 'orchestrator_run', 'orchestrator.run', 'run_id', 'state_code', null,
   'jsonb_build_object(''run_name'', r.run_name, ''document_id'', r.document_id, ''source_version_id'', r.source_version_id, ''entry_id'', r.entry_id)',
   true);
insert into fsm.lock_target_def (target, lock_fn, description) values
  ('approval', 'orchestrator.lock_approval', 'The request for approval that a run''s gate waits for, so that no vote is counted meanwhile.');

insert into approval.approval_kind (kind, risk, subject_kind, max_ttl_seconds, description) values
  ('cut_authorization', 'medium', 'orchestrator_run', 604800, 'A run writes the units that it planned.'),
  ('lifecycle_authorization', 'medium', 'orchestrator_run', 604800, 'A run enacts the units that it wrote.'),
  ('resume_stopped', 'medium', 'orchestrator_run', 604800, 'A stopped run goes on in the state it was stopped in.'),
  ('drift_ack', 'medium', 'orchestrator_run', 604800, 'A run goes on although the database changed under it, with the new facts as its pins.');

-- The sovereign's authorization of a cut is the review of its manifest: one person, one command, one transaction.
insert into identity.login_actor_class (login_role, actor_class) values ('cutter_review', 'sovereign');

insert into config.dot_config (key, value, description) values
  ('orchestrator.max_candidates_per_doc', '20000', 'A document gives at most this many units.'),
  ('orchestrator.approval_ttl_seconds', '259200', 'A sovereign gate waits this long for its approval; then it is asked for anew.'),
  ('orchestrator.cap_minutes.source_pin', '2', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.mark', '5', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.cutplan', '10', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.backup', '5', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.grant_probe', '1', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.cut_leg_a', '10', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.structural_verify', '2', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.leg_b_record', '5', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.write_verify', '5', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.lifecycle_enact', '15', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.closeout', '5', 'A phase that runs longer is stopped and escalated.'),
  ('orchestrator.cap_minutes.run', '60', 'A run that executes longer in all is stopped and escalated. Time at a human gate does not count.'),
  ('orchestrator.backup.tables',
   '["identity.principal","identity.signing_key","identity.identity_log","event.event_outbox","event.event_outbox_*",
     "event.event_position","event.event_position_*","event.event_sequenced","event.sequencer_cursor","event.event_validation_audit",
     "fsm.run","fsm.transition_log","iu.source_document","iu.source_version","iu.information_unit",
     "iu.unit_version","iu.unit_edit_draft","iu.iu_lifecycle_log","cutter_governance.decision_backlog_entry","cutter_governance.decision_backlog_dependency",
     "cutter_governance.decision_backlog_sweep_log","cutter_governance.manifest_envelope","cutter_governance.manifest_unit_block","cutter_governance.review_decision","cutter_governance.dot_pair_signature",
     "cutter_governance.cut_change_set","cutter_governance.cut_change_set_affected_row","cutter_governance.verify_result","approval.approval_request","approval.approval_vote",
     "approval.approval_use","kb.revision","kb.revision_signature","orchestrator.run","orchestrator.backup_key"]',
   'What is dumped before a run writes: everything that it writes or refers to. A star stands for the partitions of a table.'),
  ('orchestrator.forbidden_addresses', '[]', 'Addresses that no run may write, as patterns of LIKE.');
