-- claim: one look has the run with its version, inputs and roll-up, every step, what is waited for, which ways were taken, and the position of the newest
--        event; digests and tokens are left out, and a run that is not there is refused.
alter table workflow.workflow_version disable trigger user;
alter table workflow.workflow_run disable trigger user;
alter table workflow.step_run disable trigger user;
alter table workflow.wait disable trigger user;
alter table workflow.relation_outcome disable trigger user;
insert into workflow.workflow_version (workflow_def_id, workflow, version, definition, definition_sha256, change_request_id, merged_by, merged_at, row_digest)
values ('0199a3f0-0000-7000-8000-000000000001', 'w', 7, '{}', '\x00', gen_random_uuid(), 'worker', now(), '\x00');
insert into workflow.workflow_run (workflow_run_id, workflow_def_id, workflow, workflow_class, inputs, state_machine_id, state_code, seq, head_hash, started_by, trace_id,
                                   correlation_id, created_at, last_transition_at, rollup_state_code, yellow_count, mandatory_count, decisive_step_run_id, decisive_state_code, row_digest)
values ('0199a3f0-0000-7000-8000-000000000002', '0199a3f0-0000-7000-8000-000000000001', 'w', 'standard', '{"amount":3}', 'parcel@1.0.0', 'in_progress', 2, '\x00', 'worker', repeat('a', 32),
        'c', now(), now(), 'yellow', 1, 2, '0199a3f0-0000-7000-8000-000000000003', 'waiting', '\x00');
insert into workflow.step_run (step_run_id, workflow_run_id, step_def_id, step_no, step_key, mandatory, state_machine_id, state_code, facet, seq, head_hash, started_by, trace_id,
                               correlation_id, created_at, last_transition_at, and_open, or_open, plain_open, executor_class_ref, retry_limit, rollup_class)
select id::uuid, '0199a3f0-0000-7000-8000-000000000002', gen_random_uuid(), no, key, true, 'parcel@1.0.0', 'waiting', 'waiting_human', 4, '\x00', 'worker', repeat('a', 32), 'c', now(), now(),
       0, 0, 0, 'human', 1, 'yellow'
  from (values ('0199a3f0-0000-7000-8000-000000000004', 2, 'b'), ('0199a3f0-0000-7000-8000-000000000003', 1, 'a')) s (id, no, key);
insert into workflow.wait (wait_id, run_kind, run_id, workflow_run_id, facet, subject_kind, subject_ref, token_sha256, cycle_no, attempt, issued_at, opened, resolved_at, resolved_by, proof, row_digest)
values ('0199a3f0-0000-7000-8000-000000000005', 'step', '0199a3f0-0000-7000-8000-000000000003', '0199a3f0-0000-7000-8000-000000000002', 'waiting_human', 'person', 'ana', null, 0, 0, now(), true,
        null, null, null, '\x00'),
       ('0199a3f0-0000-7000-8000-000000000006', 'step', '0199a3f0-0000-7000-8000-000000000003', '0199a3f0-0000-7000-8000-000000000002', 'waiting_external', null, null, sha256('t'), 0, 0, now(), true,
        now(), 'chancery', '{}', '\x00');
insert into workflow.relation_outcome (workflow_run_id, relation_no, taken, decided_at)
values ('0199a3f0-0000-7000-8000-000000000002', 1, true, now()), ('0199a3f0-0000-7000-8000-000000000002', 2, false, now());
create temp table seen as select workflow.fn_workflow_run_snapshot('0199a3f0-0000-7000-8000-000000000002') as doc;
select t.equal(string_agg(k, ' ' order by k), 'last_event_position run steps tasks waits ways') from seen, jsonb_object_keys(doc) k;
select t.equal(doc #>> '{run,version}', '7'), t.equal(doc #>> '{run,inputs}', '{"amount": 3}'), t.equal(doc #>> '{run,rollup_state_code}', 'yellow'),
       t.equal(doc #>> '{run,decisive_step_run_id}', doc #>> '{steps,0,step_run_id}'), t.equal((doc -> 'run' ? 'head_hash' or doc -> 'run' ? 'row_digest')::text, 'false') from seen;
select t.equal(string_agg(s ->> 'step_key', ',' order by i), 'a,b') from seen, jsonb_array_elements(doc -> 'steps') with ordinality s (s, i);
-- What has come is not waited for, and no token is told.
select t.equal((doc -> 'waits')::text, '[{"facet": "waiting_human", "until": null, "run_id": "0199a3f0-0000-7000-8000-000000000003", "wait_id": "0199a3f0-0000-7000-8000-000000000005", '
                                       || '"run_kind": "step", "subject_ref": "ana", "subject_kind": "person"}]'),
       t.equal((doc -> 'ways')::text, '[[1, true], [2, false]]'), t.equal((doc -> 'tasks')::text, '[]') from seen;
select t.equal(doc ->> 'last_event_position', (select c.last_position::text from event.sequencer_cursor c)) from seen;
select t.refused('RW001', $$select workflow.fn_workflow_run_snapshot('0199a3f0-0000-7000-8000-00000000000f')$$);
