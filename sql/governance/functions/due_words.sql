-- promise: when something is due, in words: how long until then, or how long ago it was.
create or replace function governance.due_words(p_at timestamptz, p_locale text) returns text
language plpgsql stable
as $$
declare
  v_seconds bigint := extract(epoch from p_at - internal.now())::bigint;
  v_n bigint;
  v_unit text;
begin
  if v_seconds < 0 then
    return governance.age_words(p_at, p_locale);
  elsif v_seconds < 60 then
    return governance.words('due.now', p_locale);
  elsif v_seconds < 3600 then
    v_n := v_seconds / 60;
    v_unit := 'minute';
  elsif v_seconds < 172800 then
    v_n := v_seconds / 3600;
    v_unit := 'hour';
  else
    v_n := v_seconds / 86400;
    v_unit := 'day';
  end if;
  return governance.words('due.' || v_unit || case when v_n = 1 then '' else 's' end, p_locale, jsonb_build_object('n', governance.number_words(v_n, p_locale)));
end
$$;
