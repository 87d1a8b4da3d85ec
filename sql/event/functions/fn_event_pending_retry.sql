-- promise: every pending event that is due was tried once more. One that is emitted names its event; one that failed too often is dead
--          and a finding. Nothing is ever dropped.
-- callers: chancery_app (system)
-- locks: the pending rows (update, passing by those that another call holds), then see fsm.move
-- refuses with: RS018 no machine for findings, RI001–RI004
create or replace function event.fn_event_pending_retry(p_limit integer, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_max integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'event_pending.max_attempts');
  v_base double precision := (select (c.value #>> '{}')::double precision from config.dot_config c where c.key = 'event_pending.base_delay_seconds');
  v_pending event.event_pending;
  v_answer jsonb;
  v_emitted integer := 0;
  v_waiting integer := 0;
  v_dead integer := 0;
  v_issue_id uuid;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  for v_pending in
    select p.* from event.event_pending p
     where p.state = 'pending' and p.next_attempt_at <= internal.now()
     order by p.next_attempt_at, p.pending_id
     limit greatest(least(coalesce(p_limit, 100), 1000), 1)
       for update skip locked
  loop
    v_answer := event.repeat_move(v_pending);
    if v_answer ->> 'event_id' is not null then
      update event.event_pending p
         set state = 'emitted', attempts = p.attempts + 1, emitted_event_id = (v_answer ->> 'event_id')::uuid, settled_at = internal.now(), last_problems = null
       where p.pending_id = v_pending.pending_id;
      v_emitted := v_emitted + 1;
    elsif v_pending.attempts + 1 >= v_max then
      v_issue_id := governance.require_open(
        'event_pending', 'critical', 'handoff_dlq', 'dlq', format('%s could not be emitted', v_pending.event_type), null, 'event_pending',
        v_pending.pending_id::text,
        jsonb_build_object('event_type', v_pending.event_type, 'subject_kind', v_pending.subject_kind, 'subject_id', v_pending.subject_id,
                           'attempts', v_pending.attempts + 1, 'codes', jsonb_path_query_array(v_answer, '$.problems[*].code')), p_principal);
      update event.event_pending p
         set state = 'dead', attempts = p.attempts + 1, issue_id = v_issue_id, settled_at = internal.now(), last_problems = v_answer -> 'problems'
       where p.pending_id = v_pending.pending_id;
      v_dead := v_dead + 1;
    else
      update event.event_pending p
         set attempts = p.attempts + 1, last_problems = v_answer -> 'problems',
             next_attempt_at = internal.now() + make_interval(secs => least(v_base * power(2, least(p.attempts, 20)), 3600))
       where p.pending_id = v_pending.pending_id;
      v_waiting := v_waiting + 1;
    end if;
  end loop;
  return jsonb_build_object('emitted', v_emitted, 'waiting', v_waiting, 'dead', v_dead);
end
$$;
