-- claim: a pass without new events stamps nothing, says so, and can be repeated.
select t.equal((event.fn_sequence_events() ->> 'more'), 'false');
select t.equal(event.fn_sequence_events()::text, jsonb_build_object('stamped', 0, 'last_position', p.last, 'more', false)::text)
  from (select coalesce(max(position), 0) as last from event.event_position) p;
