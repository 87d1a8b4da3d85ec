-- claim: a report needs the newest lease of the newest job of its work; a job that was made before is refused, also with a good lease, unless it is a replay.
-- Rows as the doors would leave them: what is asked here is which of them counts.
alter table workflow.workflow_version disable trigger user;
alter table workflow.workflow_run disable trigger user;
alter table workflow.step_run disable trigger user;
alter table queue.job_queue disable trigger user;
insert into workflow.workflow_version (workflow_def_id, workflow, version, definition, definition_sha256, change_request_id, merged_by, merged_at, row_digest)
values ('0199a3f0-0000-7000-8000-000000000001', 'w', 1, '{}', '\x00', gen_random_uuid(), 'worker', now(), '\x00');
insert into workflow.workflow_run (workflow_run_id, workflow_def_id, workflow, workflow_class, inputs, state_machine_id, state_code, seq, head_hash, started_by, trace_id,
                                   correlation_id, created_at, last_transition_at, row_digest)
values ('0199a3f0-0000-7000-8000-000000000002', '0199a3f0-0000-7000-8000-000000000001', 'w', 'standard', '{}', 'parcel@1.0.0', 'in_progress', 2, '\x00', 'worker', repeat('a', 32),
        'c', now(), now(), '\x00');
insert into workflow.step_run (step_run_id, workflow_run_id, step_def_id, step_no, step_key, mandatory, state_machine_id, state_code, seq, head_hash, started_by, trace_id,
                               correlation_id, created_at, last_transition_at, and_open, or_open, plain_open, executor_class_ref, retry_limit, rollup_class, work_no)
values ('0199a3f0-0000-7000-8000-000000000003', '0199a3f0-0000-7000-8000-000000000002', gen_random_uuid(), 1, 's', true, 'parcel@1.0.0', 'in_progress', 4, '\x00', 'worker',
        repeat('a', 32), 'c', now(), now(), 0, 0, 0, 'noop', 5, 'green', 2);
insert into queue.job_queue (job_id, executor_class, job_kind, state, state_machine_id, scheduled_at, lease_no, lease_owner, lease_until, max_attempts, payload_json, idempotency_key,
                             replay_request_id, started_by, trace_id, correlation_id, created_at, last_transition_at)
select ('0199a3f0-0000-7000-8000-00000000001' || n)::uuid, 'noop', kind, 'leased', 'parcel@1.0.0', now(), 3, 'worker/w1', now() + interval '1 minute', 5,
       '{"run_kind": "step", "run_id": "0199a3f0-0000-7000-8000-000000000003"}', '0199a3f0-0000-7000-8000-000000000003/' || n, replay, 'worker', repeat('a', 32), 'c', now(), now()
  from (values (1, 'workflow.step', null), (2, 'workflow.step', null), (3, 'workflow.step', gen_random_uuid()), (4, 'greet', null)) j (n, kind, replay);
create function pg_temp.asked(p_n integer, p_lease_no integer, p_worker text) returns text language sql as $$
  select format('select workflow.fn_work_report(%L, %s, %L, %L, %L, %L, %L)', '0199a3f0-0000-7000-8000-00000000001' || p_n, p_lease_no, p_worker, 'worker', 'no_such_call', '{}', '{}')
$$;
set local session authorization chancery_app;
select t.refused('RW025', pg_temp.asked(1, 3, 'w1')), t.refused('RE010', pg_temp.asked(2, 2, 'w1')), t.refused('RE010', pg_temp.asked(2, 3, 'w2')),
       t.refused('RE011', pg_temp.asked(4, 3, 'w1')), t.refused('RE011', pg_temp.asked(9, 3, 'w1'));
-- The newest one and the replay come as far as their call, which there is none of.
select t.refused('RW002', pg_temp.asked(2, 3, 'w1')), t.refused('RW002', pg_temp.asked(3, 3, 'w1'));
