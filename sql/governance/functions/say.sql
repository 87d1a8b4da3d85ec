-- promise: what a page says at its head: how it is meant, the sentence, and the one thing to do next, or null.
create or replace function governance.say(p_locale text, p_tone text, p_sentence text, p_label text default null, p_to text default null) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'tone', p_tone, 'sentence', p_sentence,
    'action', case when p_label is not null and p_to is not null
                   then jsonb_build_object('label', governance.words('headline.action.' || p_label, p_locale), 'to', p_to) end)
$$;
