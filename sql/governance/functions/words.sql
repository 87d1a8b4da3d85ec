-- promise: the text of a message in a language with its places filled in: {name} by what the object says. A text that is missing is its key,
--          so that nothing fails for want of words.
create or replace function governance.words(p_key text, p_locale text, p_values jsonb default '{}') returns text
language plpgsql stable
as $$
declare
  v_text text := coalesce((select m.text from config.message m where m.message_key = p_key and m.locale = p_locale), p_key);
  v_value record;
begin
  for v_value in select e.key, e.value from jsonb_each_text(p_values) e loop
    v_text := replace(v_text, '{' || v_value.key || '}', coalesce(v_value.value, ''));
  end loop;
  return v_text;
end
$$;
