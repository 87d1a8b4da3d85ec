-- claim: evidence with a number that no double holds is refused before any run is looked at, at any depth; the smallest double is taken.
select t.equal(fsm.request_problems('custom', n.evidence::jsonb, 'k', 'ana') #>> '{0,problem}', n.problem)
  from (values ('{"n": 2e-324}', 'evidence_malformed'), ('{"a": [{"n": -2e-324}]}', 'evidence_malformed'), ('{"n": 1e400}', 'evidence_malformed'),
               ('{"n": 5e-324}', null), ('{"n": -1.5e-310}', null), ('{"n": 0}', null)) n (evidence, problem);
