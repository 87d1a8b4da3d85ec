-- claim: there are nine floor states, each with its own colour, and the classes of the specification.
select t.equal(string_agg(f.code || ':' || f.semantic_class, ' ' order by f.code),
               'blocked:wait cannot_complete:red completed:active failed:red in_progress:active not_started:idle overdue:red ready:active waiting:wait'),
       t.equal(count(distinct f.ui_color_token)::text, '9'),
       t.equal(bool_and(f.ui_color_token like 'ui.traffic_light.%')::text, 'true')
  from fsm.floor_state() f;
