-- claim: a superuser has no duty: without a login that may act for the class nothing moves.
set local session authorization chancery_app;
select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a3', 'parcel', '{"address": "here"}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k');
reset session authorization;
select t.refused('RI004', $$select fsm.fn_state_transition_apply('00000000-0000-0000-0000-00000000c1a3', 'custom', 'open', 'packed', 'executor_worker', 'rpc', 'parcel_pack', '{}', 'worker', 'pack')$$);
set local session authorization chancery_app;
select t.equal(fsm.fn_state_transition_apply('00000000-0000-0000-0000-00000000c1a3', 'custom', 'open', 'packed', 'executor_worker', 'rpc', 'parcel_pack', '{}', 'worker', 'pack') ->> 'ok', 'true');
reset session authorization;
-- State and log agree before COMMIT asks.
set constraints all immediate;
