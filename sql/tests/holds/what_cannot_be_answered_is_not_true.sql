-- claim: a condition is true or false where it can be answered; a missing field, another type or an error make it neither, also under a negation.
create function pg_temp.asked(p_condition text, p_context text) returns text language sql as $$
  select coalesce(workflow.holds(p_condition::jsonpath, p_context::jsonb)::text, 'unknown')
$$;
select t.equal(workflow.holds(null, '{}')::text, 'true');
select t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {"x": 2}}'), 'true'), t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {"x": 1}}'), 'false');
select t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {}}'), 'unknown'), t.equal(pg_temp.asked('!($.inputs.x > 1)', '{"inputs": {}}'), 'unknown');
select t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {"x": "2"}}'), 'unknown'), t.equal(pg_temp.asked('!($.inputs.x > 1)', '{"inputs": {"x": "2"}}'), 'unknown');
-- What is answered without the missing part stays answered.
select t.equal(pg_temp.asked('$.inputs.y == 1 || $.inputs.x > 1', '{"inputs": {"y": 1}}'), 'true'),
       t.equal(pg_temp.asked('$.inputs.y == 2 && $.inputs.x > 1', '{"inputs": {"y": 1}}'), 'false');
-- A list is not opened: it is no number.
select t.equal(pg_temp.asked('!($.inputs.x == 1)', '{"inputs": {"x": [1, 2]}}'), 'unknown');
select t.equal(pg_temp.asked('$.inputs.x == null', '{"inputs": {"x": null}}'), 'true'), t.equal(pg_temp.asked('$.inputs.x == null', '{"inputs": {}}'), 'unknown');
-- A path that finds something is no condition.
select t.equal(pg_temp.asked('$.inputs.x', '{"inputs": {"x": 2}}'), 'unknown');
-- Conditions of older definitions, which nobody may write any more: an error is no answer, whatever they were asked in.
select t.equal(pg_temp.asked('$.inputs.t.datetime() < "2026-01-01".datetime()', '{"inputs": {"t": "2026-01-01T00:00:00+07:00"}}'), 'unknown'),
       t.equal(pg_temp.asked('!($someone == 1)', '{}'), 'unknown'), t.equal(pg_temp.asked('strict !($.inputs.x == 1)', '{}'), 'unknown');
