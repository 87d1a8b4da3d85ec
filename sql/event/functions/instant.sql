-- promise: a time of RFC 3339 as seconds since 1970, with its microseconds; null when the text is none. A time without a zone is none.
create or replace function event.instant(p_text text) returns numeric
language plpgsql immutable
as $$
begin
  return case when p_text ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})$'
              then extract(epoch from p_text::timestamptz) end;
exception when others then
  return null;
end
$$;
