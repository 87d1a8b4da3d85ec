-- promise: which rules a payload or a result breaks: deny-listed keys at any depth, or its size; null when none. The queue carries
--          signals, never bodies or secrets. Values of deny-listed keys are not repeated.
create or replace function queue.payload_breaks(p_payload jsonb, p_max_bytes integer) returns jsonb
language plpgsql stable
as $$
declare
  v_breaks jsonb := '[]';
  v_denied jsonb;
begin
  select jsonb_agg(distinct k.key) into v_denied
    from jsonb_path_query(p_payload, 'strict $.** ? (@.type() == "object")') o, jsonb_object_keys(o) k (key), config.dot_config c
   where c.key = 'event.payload.denied_keys' and c.value ? lower(k.key);
  if v_denied is not null then
    v_breaks := v_breaks || jsonb_build_array(jsonb_build_object('rule', 'denied_keys', 'keys', v_denied));
  end if;
  if octet_length(p_payload::text) > p_max_bytes then
    v_breaks := v_breaks || jsonb_build_array(jsonb_build_object('rule', 'max_bytes', 'given', octet_length(p_payload::text), 'allowed', p_max_bytes));
  end if;
  return nullif(v_breaks, '[]');
end
$$;
