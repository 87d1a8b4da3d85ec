-- promise: that the consumer has every event behind one position up to another is a sample of its lag for each.
-- callers: the doors of durable consumers that read by position, in the transaction that acknowledges
create or replace function event.record_delivery_upto(p_consumer text, p_after bigint, p_upto bigint) returns bigint
language plpgsql
as $$
declare
  v_made bigint;
begin
  insert into event.consumer_delivery (consumer, position, event_id, producer, event_at, delivered_at)
  select p_consumer, p.position, p.event_id, o.subject_kind, p.event_created_at, n.now
    from event.event_position p
    join event.event_outbox o on o.xid = p.xid and o.outbox_id = p.outbox_id and o.created_at = p.event_created_at,
         (select internal.now() as now) n
   where p.position > p_after and p.position <= p_upto;
  get diagnostics v_made = row_count;
  return v_made;
end
$$;
