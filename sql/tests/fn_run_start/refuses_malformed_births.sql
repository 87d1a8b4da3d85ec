-- claim: what a run is born with is an object, its trace is a W3C trace id, and nothing of a refused birth stays.
set local session authorization chancery_app;
select t.refused('RS014', $$select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a2', 'parcel', null, 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k')$$);
select t.refused('RS014', $$select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a2', 'parcel', '[]', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k')$$);
select t.refused('RS014', $$select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a2', 'parcel', '{}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k', p_trace_id => 'xyz')$$);
select t.refused('RS014', $$select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a2', 'parcel', '{}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k', p_trace_id => repeat('0', 32))$$);
select t.refused('RS024', $$select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a2', 'parcel', '{}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k', p_parent_run_id => '00000000-0000-0000-0000-00000000dead')$$);
select t.refused('RS018', $$select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a2', null, '{}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k')$$);
reset session authorization;
select t.equal(count(*)::text, '0') from fsm.run;
