-- promise: the next events behind a position, in order, at most so many; none only when there is none. What retention dropped is
--          passed over. Changes nothing, and keeps no place for the reader: that is what event.fn_consumer_read is for.
-- callers: every login that may read events
-- locks: none
create or replace function event.fn_events_after(p_after bigint, p_limit integer default 500)
returns table (r_position bigint, r_cloudevent jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_first bigint;
  v_end bigint;
begin
  -- Positions are dense, so a page is a window of them, and its cost does not depend on how many come after it.
  select p.position into v_first
    from event.event_position p
   cross join lateral (
     select from event.event_outbox x
      where x.xid = p.xid and x.outbox_id = p.outbox_id and x.created_at = p.event_created_at offset 0) o
   where p.position > coalesce(p_after, 0)
   order by p.position
   limit 1;
  -- Kept apart: a condition with such an expression in it is not let through the barrier of the view, which would be read whole.
  v_end := v_first + least(greatest(coalesce(p_limit, 500), 1), 10000);
  return query
  select v.position, v.cloudevent
    from event.v_event v
   where v.position >= v_first and v.position < v_end
   order by v.position;
end
$$;
