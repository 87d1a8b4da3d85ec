-- promise: how a state of a machine is called and what it means in a language, and how a page that is about it is meant.
create or replace function governance.state_words(p_machine_id text, p_state text, p_locale text, out label text, out message text, out tone text)
language sql stable
as $$
  select coalesce((select m.text from config.message m where m.message_key = d.ui_label_i18n_key and m.locale = p_locale), d.state_code),
         coalesce((select m.text from config.message m where m.message_key = d.ui_short_message_key and m.locale = p_locale), ''),
         case when d.semantic_class = 'red' then 'bad' when d.semantic_class = 'wait' then 'warn'
              when d.ui_color_token = 'ui.traffic_light.green_deep' then 'good' else 'plain' end
    from fsm.state_def d where d.state_machine_id = p_machine_id and d.state_code = p_state
$$;
