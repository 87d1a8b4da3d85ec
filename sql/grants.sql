-- The entire privilege matrix. Tables are private: the definer reads and writes them, evidence it can only append;
-- logins get doors (EXECUTE) and views (SELECT), nothing else.

-- What somebody gave by hand does not outlive a release: each owner takes back everything first.
do $revoke$
declare
  v_owner text;
  v_object record;
  v_holders constant text := 'public, chancery_app, chancery_migrator, chancery_backup, auditor_ro, cutter_exec, cutter_verify, cutter_review, cutter_ro, birth_writer';
begin
  foreach v_owner in array array['chancery_owner', 'chancery_definer'] loop
    execute format('set local role %I', v_owner);
    for v_object in
      select case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as name
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspowner = 'chancery_owner'::regrole and c.relkind in ('r', 'p', 'v', 'S')
         and c.relowner = v_owner::regrole
      union all
      select 'function', p.oid::regprocedure::text
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspowner = 'chancery_owner'::regrole and p.proowner = v_owner::regrole
    loop
      execute format('revoke all on %s %s from %s', v_object.kind, v_object.name, v_holders);
    end loop;
  end loop;
end
$revoke$;

-- What the owner of the tables gives.
set local role chancery_owner;

-- Functions in indexes are called by whoever writes.
grant execute on function internal.folded(text), internal.spaced(text), internal.trigrams(text), internal.contrast(text, text), internal.is_blank(text) to chancery_definer;
-- definer → tables
grant select, insert, update on config.message to chancery_definer;
grant select on config.dot_config, config.refusal to chancery_definer, chancery_guard;
grant select on config.partitioned_table, config.theme, config.palette, config.colour, config.silhouette to chancery_definer;
grant select on identity.actor_class, identity.login_actor_class to chancery_definer;
grant select, insert, update on identity.principal to chancery_definer;
grant select, insert on identity.identity_log to chancery_definer;
grant select on identity.permission, identity.class_permission, identity.permission_source, identity.decoy to chancery_definer;
grant select, insert, delete on identity.machine_permission to chancery_definer;
grant select, insert, update on identity.credential to chancery_definer;
grant select, insert, update, delete on identity.sign_in_attempt to chancery_definer;
grant select, insert, update (ended_at) on identity.session to chancery_definer;
grant select, insert, update (revoked_at, revoke_reason) on identity.api_token to chancery_definer;
grant select, insert on identity.oidc_link to chancery_definer;
grant select, insert, update (settled_at, outcome) on identity.key_request to chancery_definer;
grant select, insert, update (revoked_at, revoke_reason) on identity.signing_key to chancery_definer;
grant select, insert on event.event_type_registry, event.event_outbox, event.event_position, event.event_sequenced,
  event.event_validation_audit to chancery_definer;
grant select, insert, update on event.sequencer_cursor to chancery_definer;
grant select, insert, update (position, reached, advanced_at, lead_holder, lead_until) on event.event_consumer to chancery_definer;
grant select, insert, delete on event.event_receipt to chancery_definer;
grant select, insert, delete on fsm.state_def, fsm.state_facet_def, fsm.transition_def, fsm.rollup_policy_def, fsm.invariant_def
  to chancery_definer;
grant select, insert, update, delete on fsm.state_machine_def, fsm.guard_def to chancery_definer;
grant update (proposed, login_roles, config_rules, config_rule, data_rule, reads, event_active, needs_payload) on fsm.transition_def to chancery_definer;
grant select on fsm.run_kind_def, fsm.lock_target_def, fsm.guard_need to chancery_definer;
grant select, insert, update (state_code, facet, seq, head_hash, last_transition_at) on fsm.run to chancery_definer;
grant select, insert on fsm.transition_log to chancery_definer;
grant select on audit.evidence_def, audit.evidence_version to chancery_definer;
grant select on audit.rule_table to chancery_definer;
grant select, insert, update on governance.clock_mark, queue.turn to chancery_definer;
-- Names that nobody is alone at any more are swept.
grant delete on queue.turn to chancery_definer;
grant select, insert on audit.rule_change, audit.drift_acknowledgement to chancery_definer;
-- What is kept of rule rows is read from the tables themselves.
grant select on iu.dot_iu_command_catalog, config.partitioned_table, fsm.guard_need, fsm.lock_target_def to chancery_definer;
grant select, insert on iu.source_document, iu.source_version, iu.unit_edit_draft, iu.iu_lifecycle_log to chancery_definer;
grant select, insert, update (lifecycle_status, content_anchor_ref, version_anchor_ref, identity_profile, updated_at, updated_by, deleted_at)
  on iu.information_unit to chancery_definer;
grant select, insert, update (lifecycle_status, enacted_at) on iu.unit_version to chancery_definer;
grant select, insert on cutter_governance.decision_backlog_dependency, cutter_governance.decision_backlog_sweep_log,
  cutter_governance.manifest_envelope, cutter_governance.manifest_unit_block, cutter_governance.dot_pair_signature,
  cutter_governance.cut_change_set, cutter_governance.cut_change_set_affected_row, cutter_governance.verify_result to chancery_definer;
grant select, insert, update (status, facet, seq, head_hash, last_transition_at) on cutter_governance.decision_backlog_entry to chancery_definer;
grant select, insert, update (superseded_by_review_decision_id) on cutter_governance.review_decision to chancery_definer;
grant select on cutter_governance.canonical_address_alias to chancery_definer;
grant select on approval.quorum_rule, approval.approval_kind to chancery_definer;
grant select, insert on approval.approval_request, approval.approval_vote, approval.approval_use, kb.revision, kb.revision_signature to chancery_definer;
grant select, insert, update (state_code, facet, seq, head_hash, last_transition_at) on orchestrator.run to chancery_definer;
grant select, insert on orchestrator.backup_key to chancery_definer;
grant select, insert, update on queue.retry_policy_registry, queue.executor_class_registry, queue.lane to chancery_definer;
grant select, insert, delete, update (state, facet, seq, head_hash, scheduled_at, lease_no, lease_owner, lease_until, picked_at, attempts, failures, last_transition_at)
  on queue.job_queue to chancery_definer;
grant select, insert on queue.job_finished, queue.job_dead_letter to chancery_definer;
grant select, insert, update on queue.loop_lease to chancery_definer;
grant select, insert, update (proposal_state, facet, seq, head_hash, approval_id, replay_job_id, outcome_jsonb, last_transition_at)
  on queue.dlq_replay_request to chancery_definer;
grant select, insert, update (severity, evidence, occurrence_count, last_seen_at, state, facet, seq, head_hash, last_transition_at)
  on governance.system_issues to chancery_definer;
grant select, insert on governance.issue_report, queue.heartbeat_series, event.consumer_delivery, event.event_lag_series to chancery_definer;
grant select, insert, update, delete on queue.queue_heartbeat to chancery_definer;
grant select, insert, update on queue.heartbeat_class, event.event_pending to chancery_definer;
grant select, update on event.lag_cursor to chancery_definer;
grant select, insert, update on birth.family, birth.family_part to chancery_definer;
grant select, insert, delete on birth.drawn_codes to chancery_definer;
grant select, insert on birth.family_log, birth.birth_registry, birth.break_glass, birth.rehearsal, iu.dot_iu_command_run to chancery_definer;
grant select on iu.dot_iu_command_catalog to chancery_definer;
grant select, insert, update (status, live, facet, seq, head_hash, consumed_at, consumed_xid, consumed_by, finalized_birth_id, last_transition_at)
  on birth.birth_admission_permit to chancery_definer;
grant select, insert, update (returned) on birth.departure to chancery_definer;
grant select, update on birth.handoff_cursor to chancery_definer;
grant select, insert, update (state, facet, seq, head_hash, last_transition_at) on governance.governance_candidate_state to chancery_definer;
grant select, insert on workflow.workflow_version, workflow.workflow_step_def, workflow.workflow_task_def, workflow.workflow_step_relations, workflow.workflow_step_permission,
  workflow.change_revision, governance.iu_usage_evidence, workflow.relation_outcome, workflow.step_run_snapshot, workflow.step_decision,
  workflow.task_checkpoints, workflow.task_comments to chancery_definer;
grant select, insert, update on workflow.workflow_registry to chancery_definer;
grant select on workflow.failure_class_registry to chancery_definer;
grant select, insert, update (proposal_state, facet, seq, head_hash, approval_id, merged_def_id, last_transition_at) on workflow.workflow_change_requests to chancery_definer;
grant select, insert, update (proposal_state, facet, seq, head_hash, approval_id, outcome, last_transition_at) on governance.proposal to chancery_definer;
grant select, insert, update (state_code, facet, seq, head_hash, last_transition_at, rollup_state_code, red_count, yellow_count, green_count, skipped_count,
  optional_excluded_count, mandatory_count, completed_count, decisive_step_run_id, decisive_state_code, last_rollup_at, frozen_at, critical_due)
  on workflow.workflow_run to chancery_definer;
grant select, insert, update (state_code, facet, seq, head_hash, last_transition_at, and_open, or_open, plain_open, or_taken, plain_taken, and_missed, awaits_precondition,
  skipped, pic_id, pinned_iu_version_id, started_at, deadline, overdue_first_at, completed_at, completion_actor_id, completed_after_deadline, sla_breach_duration,
  blocked_since, block_reason, block_escalated_at, failure_classification, failure_class, retry_count, cycle_no, output_snapshot_id, work_no, event_facts,
  on_critical_path, rollup_class, decisive_rank, stale_since) on workflow.step_run to chancery_definer;
grant select, insert, update (state_code, facet, seq, head_hash, last_transition_at, skipped, pic_id, pinned_iu_version_id, started_at, deadline, overdue_first_at,
  completed_at, completion_actor_id, completed_after_deadline, sla_breach_duration, blocked_since, block_reason, block_escalated_at, failure_classification,
  failure_class, retry_count, cycle_no, output_snapshot_id, work_no, event_facts) on workflow.task_run to chancery_definer;
grant select, insert, update (completed_at, completion_actor_id, output_snapshot_id) on workflow.step_run_correction_cycle to chancery_definer;
grant select, insert, update (opened, resolved_at, resolved_by, proof) on workflow.wait to chancery_definer;
grant select, insert, update, delete on workflow.agenda, workflow.timer to chancery_definer;
grant select, insert on governance.status_summary to chancery_definer;
-- Events come from the engine alone: not even the tables' owner writes them.
revoke insert, update, delete, truncate on event.event_outbox, event.event_outbox_default from chancery_owner;
-- guards read, nothing more
grant select on fsm.run, fsm.transition_log, fsm.state_def to chancery_guard;
grant select on cutter_governance.decision_backlog_entry, cutter_governance.decision_backlog_dependency, cutter_governance.manifest_envelope,
  cutter_governance.manifest_unit_block, cutter_governance.review_decision, cutter_governance.cut_change_set,
  cutter_governance.dot_pair_signature, cutter_governance.cut_change_set_affected_row, cutter_governance.verify_result to chancery_guard;
grant select on orchestrator.run, orchestrator.backup_key, iu.source_document, iu.source_version, iu.information_unit, iu.unit_version, iu.iu_lifecycle_log,
  approval.approval_request, approval.approval_vote, approval.approval_use, approval.quorum_rule, kb.revision, kb.revision_signature,
  identity.principal, identity.signing_key, birth.birth_admission_permit, birth.birth_registry, birth.family to chancery_guard;
grant select on workflow.workflow_run, workflow.step_run, workflow.task_run, workflow.workflow_step_def, workflow.workflow_task_def, workflow.workflow_registry,
  workflow.workflow_step_relations, workflow.workflow_change_requests, workflow.change_revision, workflow.wait, workflow.step_decision, workflow.step_run_snapshot,
  workflow.step_run_correction_cycle, governance.proposal, fsm.state_facet_def, queue.executor_class_registry, queue.job_dead_letter to chancery_guard;

-- logins → schemas
grant usage on schema cutter_governance to cutter_ro;
grant usage on schema internal, config, identity, event, fsm, iu, cutter_governance, approval, kb, orchestrator, queue, governance, birth, workflow, audit to
  chancery_app, chancery_migrator, chancery_backup, auditor_ro, cutter_exec, cutter_verify, cutter_review;

grant select on config.refusal, config.message, config.dot_config, internal.release, internal.migration
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant execute on function event.fn_ensure_partitions(integer) to chancery_definer, chancery_migrator;
grant execute on function event.fn_retention_apply() to chancery_migrator, chancery_app;
grant execute on function queue.bind_edges() to chancery_definer;
-- A backup reads every table and writes none. (Views of the same schemas are not the owner's to give.)
do $backup$
declare
  v_table text;
begin
  for v_table in
    select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspowner = 'chancery_owner'::regrole and c.relkind in ('r', 'p', 'S')
  loop
    execute format('grant select on %s to chancery_backup', v_table);
  end loop;
end
$backup$;

-- What the owner of the functions and views gives.
set local role chancery_definer;

-- logins → doors
-- Also to the owner, as whom the migrator looks while it applies a release.
grant execute on function audit.fn_rule_rows(), audit.fn_generated_texts() to chancery_owner;
grant execute on function audit.fn_rule_rows(), audit.fn_generated_texts() to chancery_app, chancery_migrator, auditor_ro;
grant execute on function audit.fn_drift_acknowledge(text, text, integer, text, text) to chancery_migrator;
grant execute on function audit.rule_key(jsonb, text[]), internal.take_turn(text), internal.sweep_turns() to chancery_owner;
grant select on audit.v_drift_acknowledgement, audit.v_rule_change to chancery_app, chancery_migrator, auditor_ro;
grant select on audit.v_drift_acknowledgement to chancery_owner;
grant execute on function audit.note_rule(), audit.begin_rule_history(), internal.assert_colours() to chancery_owner;
grant execute on function
  fsm.fn_state_transition_apply(uuid, text, text, text, text, text, text, jsonb, text, text, text, bytea, uuid, bytea),
  fsm.fn_state_transition_apply_batch(jsonb),
  fsm.fn_state_transition_validate(uuid, text, text, text, text, text, text, jsonb, text),
  event.fn_event_validation_record(text, text, jsonb)
  to chancery_app, cutter_exec, cutter_verify, cutter_review;
grant execute on function
  fsm.fn_run_start(uuid, text, jsonb, text, text, text, jsonb, text, text, text, uuid, text, text, uuid, bytea),
  event.fn_sequence_events(integer)
  to chancery_app;
-- Relays hand events on; a worker on another machine is woken by them, whatever its login.
grant execute on function event.fn_consumer_read(text, integer, bigint), event.fn_consumer_advance(text, bigint, bigint, text), event.fn_consumer_lead(text, text, integer, text) to chancery_app;
grant execute on function event.fn_consumer_register(text, text, text, text, text, text), event.fn_event_receive(text, uuid[])
  to chancery_app, cutter_exec, cutter_verify;
-- The operator's doors. Its login inherits nothing from the owners it can become: by hand it has these and no table.
grant execute on function
  fsm.fn_machine_apply(jsonb, text, text, boolean, boolean),
  fsm.fn_guard_register(text, text, text[], text),
  event.fn_event_type_register(jsonb),
  identity.fn_principal_add(text, text, text[], text),
  identity.fn_principal_revoke(text, text[], text),
  identity.fn_principal_set_active(text, boolean, text),
  identity.fn_key_register(uuid, text, bytea, bytea, uuid, text),
  identity.fn_key_revoke(uuid, text, text)
  to chancery_migrator;
-- The cutter: each duty has its door. Who calls as whom is asked again inside (identity.actor_problems).
grant execute on function iu.fn_source_add(text, text, text, bytea, text, bigint) to chancery_app, cutter_exec;
grant execute on function
  iu.fn_iu_create(text, text, text, text, text, text, text, text, uuid, integer, text, uuid, uuid, uuid, text),
  iu.fn_iu_edit_draft(uuid, text, text, text, text),
  iu.fn_iu_apply_edit_draft(uuid, text, text),
  iu.fn_iu_enact(text, text, uuid, text, uuid, text, text, boolean),
  cutter_governance.fn_cut(uuid, uuid, uuid, bytea, text, text, uuid, uuid, uuid, bigint, text, bytea)
  to cutter_exec;
grant execute on function
  iu.fn_iu_create_plan(text, text, text, text, text, text, text, text, uuid), iu.fn_iu_classify_existing(text),
  iu.fn_iu_resolve_default(text, text), iu.fn_content_hash(text)
  to chancery_app, cutter_exec, cutter_verify, cutter_review;
grant execute on function cutter_governance.fn_mark(uuid, text, jsonb, uuid[], text, text, text, text, text, uuid, bytea, jsonb),
  cutter_governance.fn_sweep(uuid, text, text, text, integer)
  to chancery_app, cutter_exec;
grant execute on function
  cutter_governance.fn_review(uuid, text, jsonb, bytea, uuid, uuid, uuid, jsonb, text, text, text, text, text, uuid, bigint, text, bytea, bytea),
  cutter_governance.fn_lifecycle_review(uuid, text, uuid, uuid, jsonb, text, text, text, uuid, bigint, text, bytea)
  to cutter_review;
grant execute on function
  cutter_governance.fn_verify(uuid, uuid, uuid, text, jsonb, uuid, text, text, uuid, uuid, uuid, bigint, text, bytea)
  to cutter_verify;
grant execute on function cutter_governance.fn_entry_is_free(uuid) to cutter_exec, cutter_verify;
grant execute on function cutter_governance.fn_standing_escalation(uuid), cutter_governance.fn_escalate_verification(uuid, text, text) to cutter_verify;
grant execute on function cutter_governance.fn_abandon(uuid, text, text, text, text, uuid, bytea) to chancery_app;
-- The orchestrator: its runner holds the executor's login, its verifier and its sovereign their own.
grant execute on function
  orchestrator.fn_orchestrate_start(uuid, text, text, uuid, text, text, jsonb), orchestrator.fn_orchestrate_gate(uuid, text, jsonb, text, text),
  orchestrator.fn_orchestrate_mark(uuid, jsonb, jsonb, text, text), orchestrator.fn_cut_leg_a(uuid, jsonb, text, text, text),
  orchestrator.fn_leg_b(uuid, jsonb, text, bytea, text, text, uuid, uuid, bigint, text, bytea),
  orchestrator.fn_lifecycle_enact(uuid, jsonb, text, text, text), orchestrator.fn_closeout(uuid, jsonb, text, text),
  orchestrator.fn_orchestrate_resume(uuid, jsonb, text, text)
  to cutter_exec;
grant execute on function
  orchestrator.fn_write_verify(uuid, jsonb, text, text, jsonb, text, text, uuid, uuid, bigint, text, bytea) to cutter_verify;
grant execute on function orchestrator.fn_orchestrate_halt(uuid, text, jsonb, text, text, text, text, text, uuid, bytea) to cutter_exec, chancery_app, cutter_review;
grant execute on function orchestrator.fn_orchestrate_void(uuid, jsonb, text, text, uuid, bytea, jsonb, bytea) to chancery_app, cutter_review;
grant execute on function orchestrator.fn_gate_preview(uuid, text, jsonb) to chancery_app, cutter_exec, cutter_verify, cutter_review;
grant execute on function orchestrator.fn_backup_key_pin(text, text, text) to chancery_migrator;
-- Findings and heartbeats: whoever works says so; people answer through the app.
grant execute on function governance.fn_log_issue(text, text, text, text, text, text, text, jsonb, text, text, text, text, text)
  to chancery_app, cutter_exec, cutter_verify, cutter_review;
grant execute on function queue.fn_heartbeat_tick(text, text, boolean, jsonb, text, text), queue.fn_heartbeat_deregister(text, text, text)
  to chancery_app, cutter_exec, cutter_verify;
grant execute on function queue.fn_worker_heartbeat(text, text, boolean, boolean, jsonb, text) to chancery_app;
grant execute on function
  governance.fn_issue_acknowledge(uuid, text, text, text, text, uuid, bytea), governance.fn_issue_resolve(uuid, text, text, text, text, uuid, bytea),
  queue.fn_silent_check(text), queue.fn_heartbeat_freeze(text, boolean, text, text, text), queue.fn_freeze_actions(text),
  queue.fn_heartbeat_register_passive(text, text, text, timestamptz, jsonb, text),
  event.fn_event_lag_record(text), event.fn_event_pending_retry(integer, text)
  to chancery_app;
grant execute on function event.fn_event_lag_compute(interval) to chancery_app, chancery_migrator, auditor_ro;
-- Guards ask as their own role.
grant execute on function internal.uuid_or_null(text), internal.derived_uuid(uuid, text), internal.now(), internal.micros(timestamptz),
  internal.problem(text, jsonb), approval.problem(uuid, text, text, bytea), approval.state(uuid), approval.tally(uuid), approval.report(uuid),
  approval.revoked_votes(uuid),
  orchestrator.json_block(text), orchestrator.document_path(text, text), orchestrator.approval_kind(text), orchestrator.holds(jsonb),
  orchestrator.is_sha256(text), internal.artefact_digest(bytea[]) to chancery_guard;
grant execute on function
  approval.fn_approval_request(uuid, text, text, bytea, text, text, jsonb, bigint, text, text, uuid, bigint, text, bytea)
  to chancery_app, cutter_exec, cutter_review;
grant execute on function approval.fn_approval_vote(uuid, uuid, text, text, text, text, uuid, bigint, text, bytea) to chancery_app, cutter_review;
-- What can be done, for pages and programs.
grant execute on function approval.fn_approval_actions(uuid, text), approval.fn_inbox(text, integer),
  cutter_governance.fn_entry_actions(uuid, text) to chancery_app;
grant execute on function fsm.fn_transition_activate(text, uuid, text, text) to chancery_app;
grant execute on function kb.fn_kb_put(text, text, text, integer, text, text), kb.fn_kb_sign(uuid, text, integer, text, text, text, uuid, bigint, text, bytea)
  to chancery_app, cutter_exec, cutter_verify, cutter_review;
-- The queue: one login serves jobs, whoever enqueues them; classes and policies are the operator's.
grant execute on function
  queue.fn_job_enqueue(jsonb, text, text), queue.fn_job_claim(text, integer, text, text),
  queue.fn_job_ack(text, text, uuid[], integer[], text[], jsonb[]),
  queue.fn_job_turn(text, integer, text, text, uuid[], integer[], text[], jsonb[]),
  queue.fn_job_extend(text, text, uuid[], integer[]), queue.fn_job_release(text, text, uuid[], integer[]),
  queue.fn_job_cancel(uuid, text, text, text, text, uuid, bytea), queue.fn_dead_letter_dismiss(uuid, text, text, text, text, uuid, bytea),
  queue.fn_dlq_replay_preview(uuid, uuid[], integer), queue.fn_dlq_replay_propose(uuid, uuid[], text, integer, text, text, uuid, bytea[]),
  queue.fn_dlq_replay(uuid, uuid, text, text), queue.fn_dlq_replay_withdraw(uuid, text, text, text, text, uuid, bytea)
  to chancery_app;
-- The host of the loops.
grant execute on function queue.fn_loop_lease(text, text, integer, text), queue.fn_leases_expire(text), event.fn_partitions_prepare(text) to chancery_app;
grant execute on function queue.fn_retry_policy_put(text, integer, bigint, numeric, bigint, numeric, text),
  queue.fn_executor_class_put(text, text, integer, integer, boolean, text) to chancery_migrator;
grant select on queue.v_job, queue.v_logged_job, queue.v_job_dead_letter, queue.v_dlq_replay_request, queue.v_executor_class, queue.v_retry_policy, queue.v_queue_depth, queue.v_history
  to chancery_app, chancery_migrator, auditor_ro;
-- Births. The writer's login has the rehearsal and what is needed to ask; the tables' owners give it INSERT.
grant usage on schema birth to birth_writer;
grant execute on function
  birth.fn_birth_permit_request(text, jsonb, text, text, text, uuid, uuid, uuid), birth.fn_birth_permit_fail(uuid, text, text, text),
  birth.fn_birth_permit_revoke(uuid, text, text, text, text, uuid, bytea), birth.fn_break_glass(text, uuid, text, integer, text, text),
  birth.fn_permit_watchdog(integer, text), birth.fn_birth_handoff(text),
  iu.fn_dot_iu_command_log(text, text, text, text, bytea, jsonb, jsonb, text)
  to chancery_app;
grant execute on function birth.fn_codes_normal(text, text[]), birth.fn_codes_draw(text, integer, uuid, text, text) to chancery_app;
grant execute on function birth.fn_birth_rehearse(text, jsonb, text, text, text) to birth_writer;
grant execute on function birth.fn_birth_statement(text, text, text, jsonb) to chancery_app, birth_writer;
grant execute on function birth.fn_pre_birth_check(text, text, text, text) to chancery_app, birth_writer, auditor_ro;
grant select on birth.v_family, birth.v_birth_admission_permit, birth.v_birth_admission_permit_status, birth.v_birth_admission_violation, birth.v_birth_registry,
  birth.v_family_log, birth.v_break_glass, iu.v_dot_iu_command_run, governance.v_governance_candidate_state
  to chancery_app, chancery_migrator, auditor_ro;
grant execute on function birth.arming(text), birth.code_columns(text) to chancery_owner;
-- Workflows: people, agents, workers and loops all come through the app; who may do what is the machines'.
grant execute on function
  workflow.fn_workflow_propose(uuid, jsonb, text, text, text, text, jsonb, uuid, bytea),
  workflow.fn_proposal_move(text, uuid, text, jsonb, text, text, text, text, uuid, bytea), workflow.fn_proposal_settle(text, uuid),
  workflow.fn_workflow_merge(uuid, jsonb, text, text, text, uuid, bytea),
  workflow.fn_workflow_start(uuid, text, jsonb, jsonb, text, text, text, text, uuid, bytea),
  workflow.fn_workflow_move(uuid, text, jsonb, text, text, text, text, uuid, bytea),
  workflow.fn_work_move(text, uuid, text, jsonb, jsonb, text, text, text, text, uuid, bytea),
  workflow.fn_work_extend(text, uuid, timestamptz, text, text, text, text), workflow.fn_step_block_escalate(text, uuid, uuid, text, text, text, text),
  workflow.fn_task_checkpoint(text, uuid, text, jsonb, text, text, text), workflow.fn_task_comment(text, uuid, text, text, text, text),
  workflow.fn_wait_resolve(uuid, jsonb, text, text), workflow.fn_callback_issue(uuid, integer, text, text, bytea), workflow.fn_callback(bytea, jsonb),
  workflow.fn_work_begin(uuid, integer, text, text, uuid, bytea), workflow.fn_work_report(uuid, integer, text, text, text, jsonb, jsonb, uuid, bytea),
  workflow.fn_mow_next(integer, text), workflow.fn_mow_turn(uuid, text), workflow.fn_mow_defer(uuid, text, text),
  workflow.fn_timer_due(integer, text), workflow.fn_timer_fire(uuid, text), workflow.fn_timer_defer(uuid, text, text),
  governance.fn_proposal_create(uuid, text, text, text, uuid[], jsonb, jsonb, jsonb, text, text, text, uuid, bytea),
  governance.fn_proposal_carry_out(uuid, jsonb, jsonb, text, text, text, uuid, bytea)
  to chancery_app;
grant execute on function
  workflow.fn_workflow_change_diff(uuid), workflow.fn_workflow_rollup_compute(uuid), workflow.fn_workflow_downstream(uuid), workflow.fn_workflow_run_snapshot(uuid),
  workflow.fn_step_blocked_severity(uuid), workflow.fn_step_pic_resolves(uuid), workflow.is_past_deadline(text, timestamptz, timestamptz)
  to chancery_app, chancery_migrator, auditor_ro;
grant execute on function workflow.peek(text, uuid), workflow.def_of(text, uuid), workflow.holds(jsonpath, jsonb), fsm.answer(jsonb, jsonpath), fsm.strict_rule(jsonpath), workflow.context(uuid, text[], jsonb),
  workflow.way_here(workflow.step_run, integer, integer, integer), workflow.precondition_holds(workflow.work), workflow.snapshot_id(workflow.work, text),
  workflow.tasks_are_done(uuid), workflow.may_be_pic(workflow.work, text), workflow.bridge_target(uuid), workflow.ending_problem(uuid), workflow.sub_output(uuid), workflow.last_outputs(uuid), workflow.is_complete(uuid), workflow.proposal_digest(text, uuid), workflow.review_of(text, uuid),
  event.value_problems(jsonb, jsonb, text), queue.job_id(text, text) to chancery_guard;
grant select on workflow.v_workflow_version, workflow.v_workflow_change_requests, workflow.v_change_revision, governance.v_proposal,
  governance.v_iu_usage_evidence, workflow.v_workflow_run, workflow.v_step_run_snapshot, workflow.v_step_run_correction_cycle,
  workflow.v_step_decision, workflow.v_wait, workflow.v_workflow_step_def, workflow.v_workflow_task_def, workflow.v_workflow_step_relations,
  workflow.v_workflow_step_permission, workflow.v_relation_outcome, workflow.v_task_checkpoints, workflow.v_task_comments, workflow.v_workflow_registry, workflow.v_failure_class_registry, workflow.v_timer,
  workflow.v_step_run, workflow.v_task_run, workflow.v_logged_step, workflow.v_logged_task, workflow.step_run_state_history, workflow.step_run_output_snapshot,
  workflow.workflow_run_snapshot
  to chancery_app, chancery_migrator, auditor_ro;
-- Problems, the timeline and summaries: each door asks who reads. The views show everything, so they are for operators and auditors.
grant execute on function
  governance.fn_problems(text), governance.fn_problem_list(text, text, text, text, integer), governance.fn_problem_show(text, text, text),
  governance.fn_summary_put(jsonb, text, text), governance.fn_summary_list(text, text), governance.fn_summary_show(text, uuid, text, integer),
  governance.fn_summaries_run(text), audit.fn_timeline(text, text, text, text, timestamptz, timestamptz, text, integer)
  to chancery_app;
grant execute on function queue.job_id(text, text) to chancery_migrator, auditor_ro;
grant select on governance.vw_governance_dlq_count, governance.vw_governance_silent_workers, governance.vw_governance_overdue,
  governance.vw_governance_schema_violations, governance.vw_governance_event_lag, governance.vw_governance_integrity_warnings,
  governance.vw_governance_failed_cuts, governance.vw_governance_orphan_workflows, governance.v_status_summary, audit.vw_audit_event_timeline
  to chancery_migrator, auditor_ro;
-- Triggers are made by the tables' owner, who must be allowed to name their functions; so are those of new partitions.
grant execute on function internal.refuse_direct_write(), internal.refuse_other_logins(), fsm.recompile(), iu.fn_iu_gateway_write_guard(), iu.only_by_the_doors(), iu.fn_iu_birth_gate_layer1(),
  iu.fn_iu_birth_gate_layer2(), iu.fn_iu_enacted_immut(), iu.fn_uv_enacted_immut(), cutter_governance.refuse_dependency_cycle(),
  queue.only_by_the_doors(), queue.guard_recovery(), birth.only_by_the_gate(), birth.only_by_a_birth(), birth.permit_equals_log(), birth.refuse_rehearsal(), birth.refuse_vanished(), workflow.refuse_lost_ending(), workflow.assert_freeze() to chancery_owner;
-- Partitions are made and dropped by the tables' owner.
grant execute on function internal.now(), internal.uuid_of_day(date) to chancery_owner;
-- What a view calls is called as who reads it: the clock that modes and ages are measured by. Logins after owners: a release takes the
-- logins' rights back and gives them again, and is to find them where they were.
grant execute on function internal.now() to chancery_app, chancery_migrator, auditor_ro;
-- refuse_other_logins refuses with the rights of whoever writes: that can be the owner.
grant execute on function internal.refuse(jsonb), internal.problem(text, jsonb) to chancery_owner;

-- logins → views; a function in a view is called with the reader's rights
grant execute on function
  event.cloudevent(uuid, text, timestamptz, bigint, text, uuid, bigint, text, text, text, text, text, jsonb)
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant select on fsm.v_run, fsm.v_run_facts, fsm.v_history, fsm.v_transition_log, fsm.v_machine, event.v_event, identity.v_principal, identity.v_signing_key
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant execute on function event.fn_events_after(bigint, integer)
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant select on event.v_consumer to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify;
-- The feed: one reader a process, for everybody who listens.
grant execute on function
  event.fn_feed(bigint, integer), event.fn_feed_topics(text[]), event.fn_feed_listeners(uuid[], uuid[]), event.fn_feed_approvals(interval)
  to chancery_app;
-- Access: the server asks, the operator sets.
grant execute on function
  identity.fn_bearer(text, bytea), identity.fn_sign_in_salt(text), identity.fn_sign_in(text, bytea, uuid, bytea, bytea),
  identity.fn_sign_in_oidc(text, text, uuid, bytea, bytea), identity.fn_session_end(uuid), identity.fn_key_request(uuid, text, bytea, bytea, uuid, bytea),
  fsm.fn_actions(text, uuid, text)
  to chancery_app;
grant execute on function
  identity.fn_password_set(text, bytea, bytea, integer, integer, integer, bytea, text),
  identity.fn_token_issue(uuid, text, text, text[], bigint, bytea, uuid, text), identity.fn_token_revoke(uuid, text, text)
  to chancery_app, chancery_migrator;
grant execute on function identity.fn_oidc_link(text, text, text, text), identity.fn_key_request_settle(uuid, boolean, text) to chancery_migrator;
-- What a reader sees of workflows, search and words.
grant execute on function
  workflow.fn_definition_seen(text, text, integer, uuid, text, boolean), workflow.fn_work_seen(text, uuid, text), workflow.fn_run_parts(uuid, text),
  workflow.fn_rollup_seen(uuid, text), workflow.fn_downstream_seen(uuid, text), workflow.fn_change_diff_seen(uuid, text), governance.fn_search(text, text, text[], uuid, integer),
  governance.fn_headline(text, text, text, text), fsm.fn_words(text), fsm.fn_tokens()
  to chancery_app;
grant select on identity.v_api_token, identity.v_session, identity.v_key_request, identity.v_class_permission to chancery_app, chancery_migrator, auditor_ro;
grant select on identity.v_identity_log, event.v_event_validation_audit to chancery_migrator, auditor_ro;
grant select on cutter_governance.decision_backlog_history, cutter_governance.v_decision_backlog_entry, cutter_governance.v_decision_backlog_dependency,
  cutter_governance.v_decision_backlog_sweep_log, cutter_governance.v_manifest_envelope, cutter_governance.v_manifest_unit_block,
  cutter_governance.v_review_decision, cutter_governance.v_dot_pair_signature, cutter_governance.v_cut_change_set,
  cutter_governance.v_cut_change_set_affected_row, cutter_governance.v_verify_result,
  iu.v_source_document, iu.v_source_version, iu.v_information_unit, iu.v_unit_version, iu.v_iu_lifecycle_log, iu.v_unit_edit_draft
  to chancery_app, auditor_ro, cutter_exec, cutter_verify, cutter_review;
-- A function in a view is called with the reader's rights; these read with the definer's.
grant execute on function approval.report(uuid) to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant select on approval.v_quorum_rule, approval.v_approval_kind, approval.v_approval_request, approval.v_approval_vote, approval.v_approval_use,
  approval.v_approval, kb.v_revision, kb.v_revision_signature, orchestrator.v_run, orchestrator.v_backup_key
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant select on orchestrator.v_backup_key to chancery_backup;
grant select on governance.v_system_issues, queue.v_queue_health, event.v_event_lag, event.v_event_pending
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
-- The observer sees what happened, not what was written.
grant select on cutter_governance.v_decision_backlog_entry_observe, cutter_governance.v_decision_backlog_history_observe,
  cutter_governance.v_decision_backlog_dependency_observe, cutter_governance.v_decision_backlog_sweep_log_observe,
  cutter_governance.v_manifest_envelope_observe, cutter_governance.v_manifest_unit_block_observe, cutter_governance.v_review_decision_observe,
  cutter_governance.v_dot_pair_signature_observe, cutter_governance.v_cut_change_set_observe, cutter_governance.v_cut_change_set_affected_row_observe,
  cutter_governance.v_verify_result_observe, cutter_governance.v_canonical_address_alias_observe
  to cutter_ro, auditor_ro;
-- What guards of rooms are asked as.
set local role chancery_guard;
grant execute on function cutter_governance.guard_mark_idem(jsonb), cutter_governance.guard_escalates_failure(jsonb),
  cutter_governance.guard_review_manifest(jsonb), cutter_governance.guard_review_auth(jsonb), cutter_governance.guard_cut_approved(jsonb),
  cutter_governance.revoked_decision(uuid),
  cutter_governance.guard_cut_deps(jsonb), cutter_governance.guard_cut_once(jsonb), cutter_governance.guard_verify_cut(jsonb),
  cutter_governance.guard_verify_sod(jsonb) to chancery_definer;
grant execute on function workflow.guard_precondition(jsonb), workflow.guard_not_taken(jsonb), workflow.guard_pic_resolves(jsonb),
  workflow.guard_executor_class(jsonb), workflow.guard_current_pic(jsonb), workflow.guard_facet_vocab(jsonb), workflow.guard_facet_resolved(jsonb),
  workflow.guard_block_reason(jsonb), workflow.guard_deadline_passed(jsonb), workflow.guard_deadline_extended(jsonb),
  workflow.guard_output_contract(jsonb), workflow.guard_postcondition(jsonb), workflow.guard_late_completion(jsonb), workflow.guard_tasks_done(jsonb),
  workflow.guard_correction_reason(jsonb), workflow.guard_prior_audit(jsonb), workflow.guard_output_snapshot(jsonb),
  workflow.guard_retry_budget(jsonb), workflow.guard_escalatable(jsonb), workflow.guard_bridge(jsonb), workflow.guard_approval(jsonb),
  workflow.guard_mandatory_done(jsonb), workflow.guard_step_reopened(jsonb), workflow.guard_proposer(jsonb), workflow.guard_digest_pinned(jsonb), workflow.guard_review_open(jsonb),
  workflow.guard_review_approved(jsonb), workflow.guard_review_rejected(jsonb), workflow.guard_review_expired(jsonb), workflow.guard_merge(jsonb) to
  chancery_definer;
grant execute on function birth.guard_permit_live(jsonb), birth.guard_born_row(jsonb), birth.guard_ttl_elapsed(jsonb) to chancery_definer;
grant execute on function
  orchestrator.guard_ig_source_pin(jsonb), orchestrator.guard_ig_mark(jsonb), orchestrator.guard_ig_cutplan(jsonb), orchestrator.guard_ig_backup(jsonb),
  orchestrator.guard_ig_grant_probe(jsonb), orchestrator.guard_sg_cut_authz_request(jsonb), orchestrator.guard_sg_cut_authz_received(jsonb),
  orchestrator.guard_ig_cut_leg_a_execute(jsonb), orchestrator.guard_ig_structural_verify(jsonb), orchestrator.guard_ig_leg_b_record(jsonb),
  orchestrator.guard_ig_write_verify(jsonb), orchestrator.guard_sg_lifecycle_authz_request(jsonb),
  orchestrator.guard_sg_lifecycle_authz_received(jsonb), orchestrator.guard_ig_lifecycle_enact_execute(jsonb), orchestrator.guard_ig_closeout(jsonb),
  orchestrator.guard_resume_state(jsonb), orchestrator.guard_resume_approval(jsonb), orchestrator.guard_drift_ack(jsonb), orchestrator.guard_void_document(jsonb),
  orchestrator.pins(uuid), orchestrator.survey(uuid), orchestrator.drift(uuid), orchestrator.binding(uuid, text), orchestrator.units(uuid),
  orchestrator.signed_by_sovereign(text, text, boolean), orchestrator.revoked_signature(text, text), orchestrator.authorization_problems(uuid, text, uuid, text),
  orchestrator.gate_invariants(text, uuid, jsonb), orchestrator.settled_survey(orchestrator.run, text) to chancery_definer;
set local role chancery_definer;
