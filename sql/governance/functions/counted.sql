-- promise: words about a number of things: KEY.none, KEY.one or KEY.some, as the language says it.
create or replace function governance.counted(p_key text, p_n bigint, p_locale text, p_values jsonb default '{}') returns text
language sql stable
as $$
  select governance.words(p_key || case p_n when 0 then '.none' when 1 then '.one' else '.some' end, p_locale,
                          p_values || jsonb_build_object('n', governance.number_words(p_n, p_locale)))
$$;
