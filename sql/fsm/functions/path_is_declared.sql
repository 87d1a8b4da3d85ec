-- promise: whether a document of this shape is said to have this place. The shape is a JSON Schema; only what it names is there, but for parts
--          that are marked as open, whose members nobody here can know.
create or replace function fsm.path_is_declared(p_shape jsonb, p_path jsonb) returns boolean
language plpgsql immutable
as $$
declare
  v_part jsonb;
begin
  for v_part in select e.part from jsonb_array_elements(p_path) with ordinality e (part, n) order by e.n loop
    exit when p_shape is null or p_shape -> 'open' = 'true';
    p_shape := case jsonb_typeof(v_part)
      when 'string' then coalesce(
        p_shape -> 'properties' -> (v_part #>> '{}'),
        -- A declared time is there as seconds too (event.with_seconds).
        case when p_shape #>> array['properties', substring(v_part #>> '{}' from '^(.+)_s$'), 'format'] = 'date-time' then '{}'::jsonb end)
      else coalesce(p_shape -> 'items', '{}') end;
  end loop;
  return p_shape is not null;
end
$$;
