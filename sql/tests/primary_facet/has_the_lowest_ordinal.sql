-- claim: of several facets the one with the lowest ordinal is primary, in whatever order and form they come.
select t.equal(fsm.primary_facet('parcel@1.0.0', 'waiting', e.evidence::jsonb), e.primary_facet)
  from (values ('{"facets": ["waiting_time_gate", "waiting_dependency", "waiting_human"]}', 'waiting_dependency'),
               ('{"facets": ["waiting_human", "waiting_time_gate"]}', 'waiting_human'),
               ('{"facet": "waiting_time_gate"}', 'waiting_time_gate'),
               ('{"facet": "waiting_human", "facets": ["waiting_time_gate"]}', 'waiting_human')) e (evidence, primary_facet);
