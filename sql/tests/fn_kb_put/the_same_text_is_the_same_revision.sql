-- claim: a text that is the newest one already stays that revision; an older one again is a new revision; a kind is part of it.
set local session authorization chancery_app;
select t.equal(concat_ws(' ', report ->> 'revision', report ->> 'replayed'), expected)
  from (values (1, 'policy', 'one', '1 false'), (2, 'policy', 'one', '1 true'), (3, 'policy', 'two', '2 false'), (4, 'policy', 'one', '3 false'),
               (5, 'report', 'one', '4 false'), (6, 'report', 'one', '4 true')) c (n, kind, body, expected)
  cross join lateral kb.fn_kb_put('policies/travel', kind, body, null, 'worker', 'executor_worker') report order by n;
select t.refused('RA021', $$select kb.fn_kb_put('policies/travel', 'report', 'two', 3, 'worker', 'executor_worker')$$);
select t.refused('RA020', $$select kb.fn_kb_put('policies/travel', 'report', '', 4, 'worker', 'executor_worker')$$);
select t.refused('RI003', $$select kb.fn_kb_put('policies/travel', 'report', 'two', 4, 'worker', 'sovereign')$$);
reset session authorization;
select t.equal(count(*)::text, '4') from kb.revision;
