-- promise: what a call is called in words, in both languages; the call itself where there are no words for it.
-- callers: approval.fn_inbox
create or replace function approval.call_label(p_call text) returns jsonb
language sql stable
as $$
  select jsonb_build_object('label', coalesce(max(m.text) filter (where m.locale = 'en'), p_call), 'label_vi', coalesce(max(m.text) filter (where m.locale = 'vi'), p_call))
    from config.message m where m.message_key = 'call.' || regexp_replace(p_call, '^(step|task)_', '')
$$;
