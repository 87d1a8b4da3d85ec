-- promise: says which of the events the receiver gets for the first time, and remembers them: each id is new once, whoever
--          delivers it how often and in whatever order. Called in the transaction of the effect, the effect happens once.
--          `repeated` were received before; `forgotten` lie further back than the window or what retention left, so that
--          nobody can tell; `unknown` are no events of this database, or dropped with everything that told of them.
-- callers: chancery_app, cutter_exec, cutter_verify
-- locks: the receiver's row: one call at a time for each receiver
-- refuses with: RE030 no such receiver, RS025
--
-- Why a position and a set: ids that come in order fill the positions without a gap, and then the position says it all. Only
-- what comes ahead of a gap needs a row, until the gap is filled. A receiver that takes some subjects only has gaps that
-- never fill; its rows are bounded by the window.
create or replace function event.fn_event_receive(p_consumer text, p_event_ids uuid[]) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_consumer event.event_consumer;
  v_floor bigint;
  v_reached bigint;
  v_position bigint;
  v_new bigint[];
  v_answer jsonb;
begin
  perform fsm.require_fresh_reads();
  select c.* into v_consumer from event.event_consumer c where c.consumer = p_consumer and c.kind = 'receiver' for update;
  if v_consumer.consumer is null then
    perform internal.refuse(internal.problem('RE030', jsonb_build_object('consumer', p_consumer, 'kind', 'receiver')));
  end if;
  v_floor := greatest(
    v_consumer.reached - (select (c.value #>> '{}')::bigint from config.dot_config c where c.key = 'event.receipt.window'),
    (select p.position from event.event_position p order by p.position limit 1) - 1);

  with given as (
    select distinct i.id from unnest(p_event_ids) i (id) where i.id is not null),
  judged as (
    select g.id, s.position,
           case when s.position is null then 'unknown'
                when s.position <= v_consumer.position or r.position is not null then 'repeated'
                when s.position <= v_floor then 'forgotten'
                else 'new' end as verdict
      from given g
      left join event.event_sequenced s on s.event_id = g.id
      left join event.event_receipt r on r.consumer = p_consumer and r.position = s.position)
  select jsonb_build_object(
           'new', coalesce(jsonb_agg(j.id order by j.position) filter (where j.verdict = 'new'), '[]'),
           'repeated', coalesce(jsonb_agg(j.id order by j.position) filter (where j.verdict = 'repeated'), '[]'),
           'forgotten', coalesce(jsonb_agg(j.id order by j.position) filter (where j.verdict = 'forgotten'), '[]'),
           'unknown', coalesce(jsonb_agg(j.id order by j.id) filter (where j.verdict = 'unknown'), '[]')),
         array_agg(j.position order by j.position) filter (where j.verdict = 'new')
    into v_answer, v_new
    from judged j;
  if v_new is null then
    return v_answer;
  end if;

  -- How far the row of positions is unbroken now: one look a step, and one in all where the gap stays.
  with recursive walk (position) as (
    select v_consumer.position
    union all
    select w.position + 1 from walk w
     where w.position + 1 = any (v_new)
        or exists (select from event.event_receipt r where r.consumer = p_consumer and r.position = w.position + 1))
  select max(w.position) into v_position from walk w;
  v_reached := greatest(v_consumer.reached, v_new[cardinality(v_new)]);
  insert into event.event_receipt (consumer, position, event_id, received_at)
  select p_consumer, s.position, s.event_id, internal.now()
    from unnest(p_event_ids) i (id) join event.event_sequenced s on s.event_id = i.id
   where s.position = any (v_new) and s.position > v_position
   group by s.position, s.event_id;
  delete from event.event_receipt r where r.consumer = p_consumer and r.position <= greatest(v_position, v_floor);
  update event.event_consumer c
     set position = v_position, reached = v_reached, advanced_at = internal.now()
   where c.consumer = p_consumer;
  return v_answer;
end
$$;
