-- promise: one sentence: how many problems there are, what the worst is, how many are like it, and since when.
create or replace function governance.headline(p_locale text, p_total bigint, p_alike bigint, p_title text, p_since timestamptz) returns text
language sql stable
as $$
  select governance.words(
    case when p_total = 1 then 'problems.headline.one' else 'problems.headline.some' end, p_locale,
    jsonb_build_object(
      'n', p_total, 'age', governance.age_words(p_since, p_locale),
      'title', case when p_alike > 1 then governance.words('problems.headline.group', p_locale, jsonb_build_object('n', p_alike, 'title', p_title))
                    else p_title end))
$$;
