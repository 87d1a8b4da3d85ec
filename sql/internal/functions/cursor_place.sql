-- promise: the place that a cursor stands for: an array of so many whole numbers and texts, or null when the text is no cursor of ours.
create or replace function internal.cursor_place(p_cursor text, p_length integer) returns jsonb
language plpgsql immutable
as $$
declare
  v_place jsonb;
begin
  if p_cursor is null or octet_length(p_cursor) > 4000 then
    return null;
  end if;
  v_place := convert_from(decode(translate(p_cursor, '-_', '+/') || repeat('=', (4 - length(p_cursor) % 4) % 4), 'base64'), 'UTF8')::jsonb;
  -- Numbers in it are small enough for what they are compared with.
  return case when jsonb_typeof(v_place) = 'array' and jsonb_array_length(v_place) = p_length and not exists (
    select from jsonb_array_elements(v_place) e
     where case jsonb_typeof(e) when 'number' then abs(e::numeric) > 1e17 or e::numeric % 1 <> 0 when 'string' then false else true end) then v_place end;
exception when data_exception then
  return null;
end
$$;
