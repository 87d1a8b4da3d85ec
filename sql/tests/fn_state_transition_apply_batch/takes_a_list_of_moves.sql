-- claim: an empty batch is done at once; what is no list of moves is refused as a whole.
select t.equal(fsm.fn_state_transition_apply_batch('[]')::text, '[]');
select t.refused('RS014', $$select fsm.fn_state_transition_apply_batch(null)$$);
select t.refused('RS014', $$select fsm.fn_state_transition_apply_batch('{}')$$);
select t.refused('RS014', $$select fsm.fn_state_transition_apply_batch('[{}, 1]')$$);
select t.equal(fsm.fn_state_transition_apply_batch('[{}]') #>> '{0,problems,0,code}', 'RS013');
