-- claim: no facet, an unknown one, one of another state or one that is no text gives none.
select t.equal(fsm.primary_facet('parcel@1.0.0', 'waiting', e.evidence::jsonb), null)
  from (values ('{}'), ('{"facet": "waiting_moon"}'), ('{"facets": ["waiting_human", "waiting_moon"]}'), ('{"facets": []}'), ('{"facet": null}'),
               ('{"facet": 1}'), ('{"facet": ["waiting_human"]}'), ('{"facets": "waiting_human"}'), ('{"facets": [["waiting_human"]]}'),
               ('{"facets": ["waiting_human", null]}')) e (evidence);
select t.equal(fsm.primary_facet('parcel@1.0.0', 'open', '{"facet": "waiting_human"}'), null);
select t.equal(fsm.primary_facet('nothing@1.0.0', 'waiting', '{"facet": "waiting_human"}'), null);
