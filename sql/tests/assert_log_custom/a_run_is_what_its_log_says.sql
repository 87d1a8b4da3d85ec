-- claim: whoever writes a run's state, seq, hash, facet or time by hand is stopped at COMMIT at the latest.
set local session authorization chancery_app;
select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a4', 'parcel', '{}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k');
reset session authorization;
-- As COMMIT would.
set constraints all immediate;
select t.refused('RS017', $$update fsm.run set facet = 'waiting_human'$$);
select t.refused('RS017', $$update fsm.run set seq = seq + 1$$);
select t.refused('RS017', $$update fsm.run set head_hash = sha256('another')$$);
select t.refused('RS017', $$update fsm.run set last_transition_at = last_transition_at + interval '1 second'$$);
select t.equal(count(*)::text, '1') from fsm.run r where r.seq = 1 and r.facet is null;
