-- promise: the consumer has handed on everything up to p_to_position. Compare-and-set: of two that advance from the same
--          position to different ones, one is refused. A repetition changes nothing and says so.
-- callers: chancery_app (relays)
-- locks: the consumer's row
-- refuses with: RE030 no such relay, RE032 it stands elsewhere by now, RE033 back, or past the last position, RI001–RI004, RS025
create or replace function event.fn_consumer_advance(
  p_consumer text, p_from_position bigint, p_to_position bigint, p_principal text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_position bigint;
  v_last bigint;
begin
  perform identity.require_actor(p_principal, 'executor_worker');
  perform fsm.require_fresh_reads();
  select c.position into v_position from event.event_consumer c where c.consumer = p_consumer and c.kind = 'relay' for update;
  if v_position is null then
    perform internal.refuse(internal.problem('RE030', jsonb_build_object('consumer', p_consumer, 'kind', 'relay')));
  end if;
  select coalesce((select c.last_position from event.sequencer_cursor c), 0) into v_last;
  if p_from_position is null or p_to_position is null or p_to_position < p_from_position or p_to_position > v_last then
    perform internal.refuse(internal.problem('RE033', jsonb_build_object(
      'consumer', p_consumer, 'from', p_from_position, 'to', p_to_position, 'last', v_last)));
  end if;
  -- The answer to the first call may have been lost; what it asked for is there.
  if v_position = p_to_position then
    return jsonb_build_object('consumer', p_consumer, 'position', v_position, 'repeated', true);
  end if;
  if v_position <> p_from_position then
    perform internal.refuse(internal.problem('RE032', jsonb_build_object(
      'consumer', p_consumer, 'expected', p_from_position, 'position', v_position)));
  end if;
  update event.event_consumer c
     set position = p_to_position, reached = p_to_position, advanced_at = internal.now()
   where c.consumer = p_consumer;
  return jsonb_build_object('consumer', p_consumer, 'position', p_to_position, 'repeated', false);
end
$$;
