-- claim: in a run that was called off nobody answers, calls back, extends or escalates, and the step stays where it stood; before that the same
--        call is judged on its own.
select identity.fn_principal_add('ana', 'human', '{pic_human,reviewer}');
-- Rows as the doors would leave them: what is asked here is who may still move them.
alter table workflow.workflow_version disable trigger user;
alter table workflow.workflow_run disable trigger user;
alter table workflow.step_run disable trigger user;
alter table workflow.wait disable trigger user;
insert into workflow.workflow_version (workflow_def_id, workflow, version, definition, definition_sha256, change_request_id, merged_by, merged_at, row_digest)
values ('0199a3f0-0000-7000-8000-000000000001', 'w', 1, '{}', '\x00', gen_random_uuid(), 'ana', now(), '\x00');
insert into workflow.workflow_run (workflow_run_id, workflow_def_id, workflow, workflow_class, inputs, state_machine_id, state_code, seq, head_hash, started_by, trace_id,
                                   correlation_id, created_at, last_transition_at, row_digest)
values ('0199a3f0-0000-7000-8000-000000000002', '0199a3f0-0000-7000-8000-000000000001', 'w', 'standard', '{}', 'parcel@1.0.0', 'cancelled', 3, '\x00', 'ana', repeat('a', 32),
        'c', now(), now(), '\x00');
insert into workflow.step_run (step_run_id, workflow_run_id, step_def_id, step_no, step_key, mandatory, state_machine_id, state_code, facet, seq, head_hash, started_by, trace_id,
                               correlation_id, created_at, last_transition_at, and_open, or_open, plain_open, executor_class_ref, retry_limit, rollup_class)
values ('0199a3f0-0000-7000-8000-000000000003', '0199a3f0-0000-7000-8000-000000000002', gen_random_uuid(), 1, 's', true, 'parcel@1.0.0', 'waiting', 'waiting_human', 4, '\x00', 'ana',
        repeat('a', 32), 'c', now(), now(), 0, 0, 0, 'human', 1, 'yellow');
insert into workflow.wait (wait_id, run_kind, run_id, workflow_run_id, facet, subject_kind, subject_ref, token_sha256, cycle_no, attempt, issued_at, opened, row_digest)
values ('0199a3f0-0000-7000-8000-000000000004', 'step', '0199a3f0-0000-7000-8000-000000000003', '0199a3f0-0000-7000-8000-000000000002', 'waiting_human', 'person', 'ana', null, 0, 0,
        now(), true, '\x00'),
       ('0199a3f0-0000-7000-8000-000000000005', 'step', '0199a3f0-0000-7000-8000-000000000003', '0199a3f0-0000-7000-8000-000000000002', 'waiting_external', null, null,
        sha256('token'), 0, 0, now(), true, '\x00');
set local session authorization chancery_app;
select t.refused('RW006', $$select workflow.fn_wait_resolve('0199a3f0-0000-7000-8000-000000000004', '{"said": "yes"}', 'ana', 'reviewer')$$),
       t.refused('RW014', $$select workflow.fn_callback(sha256('token'), '{}')$$),
       t.refused('RW006', $$select workflow.fn_work_extend('step', '0199a3f0-0000-7000-8000-000000000003', now() + interval '1 day', 'more time', 'ana', 'reviewer', 'k1')$$),
       t.refused('RW006', $$select workflow.fn_step_block_escalate('step', '0199a3f0-0000-7000-8000-000000000003', null, 'it hurts', 'ana', 'reviewer', 'k2')$$);
reset session authorization;
select t.equal(string_agg(s.state_code || ' ' || s.seq, ','), 'waiting 4') from workflow.step_run s where s.workflow_run_id = '0199a3f0-0000-7000-8000-000000000002';
select t.equal(count(*)::text, '0') from workflow.wait w where w.run_id = '0199a3f0-0000-7000-8000-000000000003' and w.resolved_at is not null;
select t.equal(count(*)::text, '0') from workflow.step_decision d where d.run_id = '0199a3f0-0000-7000-8000-000000000003';
-- Were the run on its way, the answer would be judged by itself: an empty one is no proof, and what is not blocked is not escalated.
update workflow.workflow_run r set state_code = 'in_progress' where r.workflow_run_id = '0199a3f0-0000-7000-8000-000000000002';
set local session authorization chancery_app;
select t.refused('RW015', $$select workflow.fn_wait_resolve('0199a3f0-0000-7000-8000-000000000004', '{}', 'ana', 'reviewer')$$),
       t.refused('RW018', $$select workflow.fn_step_block_escalate('step', '0199a3f0-0000-7000-8000-000000000003', null, 'it hurts', 'ana', 'reviewer', 'k2')$$);
