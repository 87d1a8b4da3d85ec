-- promise: what is wrong with the payload of an event: its schema, a deny-listed key at any depth, its size; [] when nothing is.
create or replace function event.payload_problems(p_event_type text, p_payload jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_found jsonb := event.value_problems(
    (select e.payload_schema from event.event_type_registry e where e.event_type = p_event_type), p_payload);
  v_denied jsonb;
begin
  if p_payload <> '{}' then
    -- The walk names every key at every depth; values of deny-listed keys are not repeated in the refusal.
    select jsonb_agg(distinct k.key) into v_denied
      from jsonb_path_query(p_payload, 'strict $.** ? (@.type() == "object")') o, jsonb_object_keys(o) k (key),
           config.dot_config c
     where c.key = 'event.payload.denied_keys' and c.value ? lower(k.key);
    if v_denied is not null then
      v_found := v_found || jsonb_build_array(jsonb_build_object('rule', 'denied_keys', 'keys', v_denied));
    end if;
    if octet_length(p_payload::text) > (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'event.payload.max_bytes') then
      v_found := v_found || jsonb_build_array(jsonb_build_object('rule', 'max_bytes', 'given', octet_length(p_payload::text)));
    end if;
  end if;
  if v_found = '[]' then
    return '[]';
  end if;
  return internal.problem('RE002', jsonb_build_object('event_type', p_event_type, 'breaks', v_found));
end
$$;
