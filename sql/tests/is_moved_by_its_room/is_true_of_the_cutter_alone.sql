-- claim: entries of the backlog move through the doors of their room, custom runs through the general one.
select t.equal(fsm.is_moved_by_its_room('cut_request')::text, 'true'), t.equal(fsm.is_moved_by_its_room('custom')::text, 'false'),
       t.equal(fsm.is_moved_by_its_room('nothing')::text, 'false'), t.equal(fsm.is_moved_by_its_room(null)::text, 'false');
select t.refused('RS026', $$select fsm.fn_state_transition_apply(gen_random_uuid(), 'cut_request', null, 'cut_applied', 'executor_dot991', 'rpc', 'cut', '{}', 'worker', 'k')$$);
