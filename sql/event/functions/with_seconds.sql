-- promise: a document with NAME_s beside each member NAME that its schema declares as a time (format date-time): seconds, which can be compared
--          and subtracted whatever zone the text names. Where the time is missing or none, NAME_s is missing too, whatever somebody wrote there.
-- callers: fsm.evaluate, for the evidence and the data that rules are asked of
create or replace function event.with_seconds(p_schema jsonb, p_value jsonb) returns jsonb
language plpgsql immutable
as $$
declare
  v_member record;
  v_seconds numeric;
begin
  if jsonb_typeof(p_value) <> 'object' or jsonb_typeof(p_schema -> 'properties') is distinct from 'object' then
    return p_value;
  end if;
  for v_member in select e.key, e.value as schema from jsonb_each(p_schema -> 'properties') e loop
    if v_member.schema ->> 'format' = 'date-time' then
      v_seconds := case jsonb_typeof(p_value -> v_member.key) when 'string' then event.instant(p_value ->> v_member.key) end;
      p_value := (p_value - (v_member.key || '_s'))
        || case when v_seconds is null then '{}' else jsonb_build_object(v_member.key || '_s', v_seconds) end;
    elsif p_value ? v_member.key then
      p_value := jsonb_set(p_value, array[v_member.key], event.with_seconds(v_member.schema, p_value -> v_member.key));
    end if;
  end loop;
  return p_value;
end
$$;
