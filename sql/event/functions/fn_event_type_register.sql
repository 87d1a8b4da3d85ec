-- promise: the event type stands in the registry with this schema. Repeating it changes nothing.
-- callers: fn_machine_apply and the migrations of rooms
-- refuses with: RE003 the schema leaves the subset, RE005 the type is registered otherwise
create or replace function event.fn_event_type_register(p_event jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_schema jsonb := coalesce(p_event -> 'schema', '{"type": "object"}');
  v_outside jsonb := event.schema_problems(v_schema);
  v_existing record;
  v_differs text[];
begin
  if v_outside <> '[]' then
    perform internal.refuse(internal.problem('RE003', jsonb_build_object('event_type', p_event ->> 'type', 'at', v_outside)));
  end if;
  insert into event.event_type_registry (event_type, event_domain, event_stream, delivery_lane, description, payload_schema, created_at)
  values (p_event ->> 'type', split_part(p_event ->> 'type', '.', 1), p_event ->> 'stream', p_event ->> 'lane', p_event ->> 'description',
          v_schema, internal.now())
  on conflict (event_type) do nothing;
  if not found then
    select e.event_stream, e.delivery_lane, e.payload_schema into v_existing
      from event.event_type_registry e where e.event_type = p_event ->> 'type';
    -- Another meaning under the same name would deceive every consumer that knows the first one.
    v_differs := array_remove(array[
      case when v_existing.event_stream <> p_event ->> 'stream' then 'stream' end,
      case when v_existing.delivery_lane <> p_event ->> 'lane' then 'lane' end,
      case when v_existing.payload_schema <> v_schema then 'schema' end], null);
    if v_differs <> '{}' then
      perform internal.refuse(internal.problem('RE005', jsonb_build_object(
        'event_type', p_event ->> 'type', 'differs_in', v_differs, 'stream', v_existing.event_stream, 'lane', v_existing.delivery_lane,
        'schema', v_existing.payload_schema)));
    end if;
  end if;
end
$$;
