-- owner: chancery_owner
-- promise: why a partition that is old enough is still needed, in words; null when it is not.
create or replace function event.retention_objection(p_table text, p_name text) returns text
language plpgsql
as $$
declare
  v_suffix text := substring(p_name from '[0-9]+$');
  v_open boolean;
  v_last bigint;
  v_behind text;
begin
  if p_table = 'event.event_outbox' then
    execute format('select exists (select from event.%I o where not exists (select from event.event_sequenced s where s.event_id = o.event_id)
                                     and exists (select from fsm.transition_log l where l.run_id = o.subject_id and l.seq = o.subject_seq and l.log_id = o.event_id))', p_name)
      into v_open;
    if v_open then
      return 'events without a position';
    end if;
    execute format('select max(s.position) from event.%I o join event.event_sequenced s on s.event_id = o.event_id', p_name) into v_last;
    select string_agg(c.consumer, ', ' order by c.consumer) into v_behind from event.event_consumer c where c.position < v_last;
    if v_behind is not null and v_suffix::date >= (internal.now() at time zone 'UTC')::date
         - (select (s.value #>> '{}')::int from config.dot_config s where s.key = 'retention.consumer_max_days') then
      return 'not yet had by ' || v_behind;
    end if;
  elsif p_table = 'event.event_sequenced' then
    if to_regclass('event.event_outbox_' || v_suffix) is not null then
      return 'the outbox of the day is there';
    end if;
  elsif p_table = 'event.event_position' then
    -- The last of them is of the youngest event; what an open outbox still refers to stays.
    execute format('select to_regclass(%L || to_char(max(p.event_created_at) at time zone %L, %L)) is not null from event.%I p',
                   'event.event_outbox_', 'UTC', 'YYYYMMDD', p_name) into v_open;
    if v_open then
      return 'the outbox of its days is there';
    end if;
  end if;
  return null;
end
$$;
