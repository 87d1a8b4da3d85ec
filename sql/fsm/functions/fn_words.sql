-- promise: every text that people read, in a language: messages by key, refusals by code, labels of states among the messages. What a
--          language lacks is there in English.
-- callers: chancery_app
create or replace function fsm.fn_words(p_locale text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'locale', p_locale,
    'messages', (select coalesce(jsonb_object_agg(m.message_key, m.text), '{}')
                   from (select distinct on (x.message_key) x.message_key, x.text from config.message x
                          where x.locale in (p_locale, 'en') and not starts_with(x.message_key, 'refusal.')
                          order by x.message_key, x.locale = p_locale desc) m),
    'refusals', (select coalesce(jsonb_object_agg(r.code, jsonb_build_object(
                   'problem', r.problem,
                   'title', coalesce((select m.text from config.message m where m.message_key = 'refusal.' || r.code || '.title' and m.locale = p_locale), r.title),
                   'hint', coalesce((select m.text from config.message m where m.message_key = 'refusal.' || r.code || '.hint' and m.locale = p_locale), r.hint))), '{}')
                   from config.refusal r))
$$;
