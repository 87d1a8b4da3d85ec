-- promise: a length of time as PostgreSQL writes it ("2 days", "4h", "PT30M"), or null when the text is none.
create or replace function workflow.interval_or_null(p_text text) returns interval
language plpgsql stable
as $$
begin
  return p_text::interval;
exception when invalid_datetime_format or datetime_field_overflow or interval_field_overflow then
  return null;
end
$$;
