create or replace view event.v_event_pending with (security_barrier) as
select p.pending_id, p.event_type, p.subject_kind, p.subject_id, p.to_state, p.reason, p.state, p.attempts, p.next_attempt_at, p.last_problems,
       p.emitted_event_id, p.issue_id, p.captured_at, p.settled_at
  from event.event_pending p;
comment on view event.v_event_pending is 'Events that could not be emitted when they should have been, and what became of them.';
