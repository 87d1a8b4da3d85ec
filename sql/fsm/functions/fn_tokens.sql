-- promise: how the states of every active machine look: colour, silhouette and words always together, facets among them; the colour in
--          each theme, and the colour of the page on which it can be seen. A colour that the palette does not have is gray.
-- callers: chancery_app
create or replace function fsm.fn_tokens() returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  with palette as (
    select p.colour, jsonb_object_agg(p.theme, jsonb_build_object('bg', p.bg, 'fg', p.fg, 'border', p.border)) as themes
      from config.palette p group by p.colour)
  select jsonb_build_object(
    'pages', (select jsonb_object_agg(t.theme, t.page) from config.theme t),
    'states', (
      select coalesce(jsonb_agg(jsonb_build_object(
               'machine', m.name, 'scope', m.scope, 'version', m.version, 'state', s.state_code, 'class', s.semantic_class, 'terminal', s.is_terminal, 'ordinal', s.ordinal,
               'floor', coalesce(s.floor_equivalent, s.state_code), 'colour', s.ui_color_token, 'icon', s.ui_icon_token,
               'palette', coalesce((select p.themes from palette p where p.colour = s.ui_color_token),
                                   (select p.themes from palette p where p.colour = 'ui.traffic_light.gray')),
               'label', (select coalesce(jsonb_object_agg(t.locale, t.text), '{}') from config.message t where t.message_key = s.ui_label_i18n_key),
               'message', (select coalesce(jsonb_object_agg(t.locale, t.text), '{}') from config.message t where t.message_key = s.ui_short_message_key),
               'facets', (select coalesce(jsonb_agg(jsonb_build_object(
                                    'facet', f.facet_code, 'icon', f.ui_icon_token,
                                    'label', (select coalesce(jsonb_object_agg(t.locale, t.text), '{}') from config.message t where t.message_key = f.ui_label_i18n_key)) order by f.primary_ordinal), '[]')
                            from fsm.state_facet_def f where f.state_machine_id = s.state_machine_id and f.state_code = s.state_code))
             order by m.scope, m.name, s.ordinal, s.state_code), '[]')
        from fsm.state_machine_def m join fsm.state_def s using (state_machine_id) where m.active))
$$;
