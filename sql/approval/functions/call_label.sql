-- promise: what a call is called in words, as JSON text; the call itself where there are no words for it.
-- callers: approval.fn_inbox
create or replace function approval.call_label(p_call text) returns jsonb
language sql stable
as $$
  select to_jsonb(coalesce((
    select m.text from config.message m where m.locale = 'en' and m.message_key = 'call.' || regexp_replace(p_call, '^(step|task)_', '')), p_call))
$$;
