-- promise: the nine floor states that every step and task machine holds verbatim: code, semantic class, colour token.
create or replace function fsm.floor_state() returns table (code text, semantic_class text, ui_color_token text)
language sql immutable
as $$
  values ('not_started', 'idle', 'ui.traffic_light.gray'),
         ('ready', 'active', 'ui.traffic_light.green_pale'),
         ('in_progress', 'active', 'ui.traffic_light.green'),
         ('waiting', 'wait', 'ui.traffic_light.yellow'),
         ('blocked', 'wait', 'ui.traffic_light.yellow_dark'),
         ('overdue', 'red', 'ui.traffic_light.red_pale'),
         ('failed', 'red', 'ui.traffic_light.red'),
         ('cannot_complete', 'red', 'ui.traffic_light.red_dark'),
         ('completed', 'active', 'ui.traffic_light.green_deep')
$$;
