create or replace view event.v_consumer with (security_barrier) as
select c.consumer, c.kind, c.target, c.position, c.reached,
       coalesce((select s.last_position from event.sequencer_cursor s), 0) - c.reached as behind,
       c.position + 1 < (select p.position from event.event_position p order by p.position limit 1) as outrun,
       c.advanced_at, c.registered_at, c.registered_by, c.description
  from event.event_consumer c;
comment on view event.v_consumer is
  'Durable consumers: how far they are, how many events lie before them, and whether retention dropped what they have not read.';
