-- promise: how long ago something was, in words.
create or replace function governance.age_words(p_since timestamptz, p_locale text) returns text
language plpgsql stable
as $$
declare
  v_seconds bigint := greatest(extract(epoch from internal.now() - p_since)::bigint, 0);
  v_n bigint;
  v_unit text;
begin
  if v_seconds < 60 then
    return governance.words('age.now', p_locale);
  elsif v_seconds < 3600 then
    v_n := v_seconds / 60;
    v_unit := 'minute';
  elsif v_seconds < 86400 then
    v_n := v_seconds / 3600;
    v_unit := 'hour';
  else
    v_n := v_seconds / 86400;
    v_unit := 'day';
  end if;
  return governance.words('age.' || v_unit || case when v_n > 1 then 's' else '' end, p_locale, jsonb_build_object('n', v_n));
end
$$;
