-- Runs, their parts and their evidence, closed to the owners as well. See internal/triggers.sql for what holds for every table.
do $runs$
declare
  v_table record;
begin
  for v_table in
    select * from (values
      ('workflow.workflow_run', 'workflow_run', 'workflow_run_id, workflow_def_id, workflow, workflow_class, inputs, parent_step_run_id, state_machine_id, started_by, trace_id, correlation_id, created_at, row_digest, digest_version'),
      ('workflow.step_run', 'step', 'step_run_id, workflow_run_id, step_def_id, step_no, step_key, mandatory, state_machine_id, started_by, trace_id, correlation_id, created_at, executor_class_ref, retry_limit'),
      ('workflow.task_run', 'task', 'task_run_id, step_run_id, workflow_run_id, task_def_id, task_no, task_key, state_machine_id, started_by, trace_id, correlation_id, created_at, executor_class_ref, retry_limit'),
      ('workflow.workflow_change_requests', 'workflow_change', 'change_request_id, workflow, base_version, state_machine_id, title, started_by, trace_id, correlation_id, created_at, row_digest, digest_version'),
      ('governance.proposal', 'proposal', 'proposal_id, proposal_kind, proposer_class, state_machine_id, title, affected_iu_ids, proposed_action, action_sha256, started_by, trace_id, correlation_id, created_at, row_digest, digest_version')
    ) t (name, kind, facts)
  loop
    -- `execute format` because triggers cannot be made by a parameter; the names are written above.
    -- A vote, which can end a wait or a review, comes through the reviewer's login as well; it writes neither table.
    execute format('create or replace trigger run_is_written_by_the_doors before insert or update on %s
                      for each row when (session_user::text <> %L) execute function internal.refuse_direct_write(%L)', v_table.name::regclass, 'chancery_app', 'RS015');
    execute format('create or replace trigger run_facts_never_change before update of %s on %s
                      for each row execute function internal.refuse_direct_write(%L)', v_table.facts, v_table.name::regclass, 'RS015');
    execute format('create or replace trigger run_is_never_deleted before delete on %s
                      for each row execute function internal.refuse_direct_write(%L)', v_table.name::regclass, 'RS015');
    execute format('drop trigger if exists run_state_equals_log on %s', v_table.name::regclass);
    execute format('create constraint trigger run_state_equals_log after insert or update on %s
                      deferrable initially deferred for each row execute function fsm.%I()', v_table.name::regclass, 'assert_log_' || v_table.kind);
    execute format('alter table %s enable always trigger run_is_written_by_the_doors', v_table.name::regclass);
    execute format('alter table %s enable always trigger run_facts_never_change', v_table.name::regclass);
    execute format('alter table %s enable always trigger run_is_never_deleted', v_table.name::regclass);
    execute format('alter table %s enable always trigger run_state_equals_log', v_table.name::regclass);
  end loop;
end
$runs$;

do $endings$
declare
  v_table text;
begin
  foreach v_table in array array['workflow.step_run', 'workflow.task_run'] loop
    execute format($t$create or replace trigger first_ending_stays
      before update of completed_at, completion_actor_id, overdue_first_at, completed_after_deadline, sla_breach_duration on %s
      for each row when (
        (old.completed_at is not null and (new.completed_at is distinct from old.completed_at or new.completion_actor_id is distinct from old.completion_actor_id))
        or (old.overdue_first_at is not null and new.overdue_first_at is distinct from old.overdue_first_at)
        or (old.completed_after_deadline and not new.completed_after_deadline)
        or (old.sla_breach_duration is not null and new.sla_breach_duration is distinct from old.sla_breach_duration))
      execute function workflow.refuse_lost_ending()$t$, v_table::regclass);
    execute format('alter table %s enable always trigger first_ending_stays', v_table::regclass);
  end loop;
end
$endings$;

drop trigger if exists colour_stands_still_on_hold on workflow.workflow_run;
create constraint trigger colour_stands_still_on_hold after update of state_code, frozen_at on workflow.workflow_run
  deferrable initially deferred for each row execute function workflow.assert_freeze();
alter table workflow.workflow_run enable always trigger colour_stands_still_on_hold;

do $evidence$
declare
  v_table record;
begin
  for v_table in
    select * from (values
      ('workflow.workflow_version', null), ('workflow.change_revision', null), ('governance.iu_usage_evidence', null), ('workflow.step_run_snapshot', null),
      ('workflow.step_decision', null), ('workflow.relation_outcome', null), ('workflow.task_checkpoints', null), ('workflow.task_comments', null),
      ('workflow.workflow_step_def', null), ('workflow.workflow_task_def', null), ('workflow.workflow_step_relations', null), ('workflow.workflow_step_permission', null),
      ('workflow.step_run_correction_cycle', 'run_id, cycle_no, run_kind, prior_state, prior_audit_id, prior_actor, prior_at, prior_key_id, original_output_snapshot_id, correction_reason, approval_id, reopened_by, reopened_at, row_digest, digest_version'),
      ('workflow.wait', 'wait_id, run_kind, run_id, workflow_run_id, facet, subject_kind, subject_ref, until, token_sha256, cycle_no, attempt, issued_at, row_digest, digest_version')
    ) t (name, facts)
  loop
    execute format('create or replace trigger only_by_the_doors before insert%s on %s
                      for each row when (current_user::text <> %L or session_user::text <> %L) execute function internal.refuse_direct_write(%L)',
                   case when v_table.facts is not null then ' or update' else '' end, v_table.name::regclass, 'chancery_definer', 'chancery_app', 'RS016');
    execute format('alter table %s enable always trigger only_by_the_doors', v_table.name::regclass);
    execute format('create or replace trigger is_append_only before delete or update%s on %s
                      for each row execute function internal.refuse_direct_write(%L)',
                   coalesce(' of ' || v_table.facts, ''), v_table.name::regclass, 'RS016');
    execute format('alter table %s enable always trigger is_append_only', v_table.name::regclass);
  end loop;
end
$evidence$;

-- What was waited for comes once, and a correction ends once. A call-back may come before the wait for it is on record, which then opens it.
create or replace trigger comes_once before update on workflow.wait
  for each row when (old.resolved_at is not null and (old.opened or (old.resolved_at, old.resolved_by, old.proof::text) is distinct from (new.resolved_at, new.resolved_by, new.proof::text)))
  execute function internal.refuse_direct_write('RS016');
alter table workflow.wait enable always trigger comes_once;
create or replace trigger ends_once before update on workflow.step_run_correction_cycle
  for each row when (old.completed_at is not null) execute function internal.refuse_direct_write('RS016');
alter table workflow.step_run_correction_cycle enable always trigger ends_once;
