-- promise: the consumer is known under its name, with this kind and target. A new one starts before the oldest event that is
--          still kept. Repeating it changes nothing.
-- callers: chancery_app, cutter_exec, cutter_verify
-- refuses with: RE031 name, kind or target are unfit or the name is taken by another target, RI001–RI004
create or replace function event.fn_consumer_register(
  p_consumer text, p_kind text, p_target text, p_description text, p_principal text, p_actor_class text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_start bigint;
  v_there event.event_consumer;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  if p_consumer is null or p_consumer !~ '^[a-z][a-z0-9_-]{0,62}$' or p_kind is null or p_kind not in ('relay', 'receiver')
     or p_target is null or p_target !~ '^[[:graph:]]{1,200}$' then
    perform internal.refuse(internal.problem('RE031', jsonb_build_object(
      'consumer', p_consumer, 'kind', p_kind, 'target', p_target, 'registered', null)));
  end if;
  select coalesce((select p.position from event.event_position p order by p.position limit 1) - 1,
                  (select c.last_position from event.sequencer_cursor c), 0) into v_start;
  insert into event.event_consumer (consumer, kind, target, position, reached, registered_by, registered_at, description)
  values (p_consumer, p_kind, p_target, v_start, v_start, p_principal, internal.now(), coalesce(p_description, ''))
  on conflict (consumer) do nothing;
  select c.* into strict v_there from event.event_consumer c where c.consumer = p_consumer;
  -- The position says how far the one target is; read for another one, everything before it would be left out.
  if v_there.kind <> p_kind or v_there.target <> p_target then
    perform internal.refuse(internal.problem('RE031', jsonb_build_object(
      'consumer', p_consumer, 'kind', p_kind, 'target', p_target,
      'registered', jsonb_build_object('kind', v_there.kind, 'target', v_there.target))));
  end if;
  return jsonb_build_object('consumer', v_there.consumer, 'kind', v_there.kind, 'target', v_there.target, 'position', v_there.position);
end
$$;
