-- promise: a time of ISO 8601 with its zone, or null when the text is none.
create or replace function workflow.time_or_null(p_text text) returns timestamptz
language plpgsql stable
as $$
begin
  return case when p_text ~ E'^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,6})?)?(Z|[+-]\\d{2}:\\d{2})$' then p_text::timestamptz end;
exception when datetime_field_overflow or invalid_datetime_format then
  return null;
end
$$;
