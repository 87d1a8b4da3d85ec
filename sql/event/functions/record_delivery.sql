-- promise: that the consumer has these events is a sample of its lag. Events without a position, or whose day was dropped, give none.
-- callers: the doors of durable consumers, in the transaction that acknowledges
create or replace function event.record_delivery(p_consumer text, p_event_ids uuid[]) returns bigint
language plpgsql
as $$
declare
  v_made bigint;
begin
  insert into event.consumer_delivery (consumer, position, event_id, producer, event_at, delivered_at)
  select p_consumer, p.position, p.event_id, o.subject_kind, p.event_created_at, n.now
    from unnest(p_event_ids) e (event_id)
    join event.event_sequenced s on s.event_id = e.event_id
    join event.event_position p on p.position = s.position
    join event.event_outbox o on o.xid = p.xid and o.outbox_id = p.outbox_id and o.created_at = p.event_created_at,
         (select internal.now() as now) n;
  get diagnostics v_made = row_count;
  return v_made;
end
$$;
