-- claim: a condition holds when it is true; a missing field compares to nothing, and another type can be neither confirmed nor denied.
create function pg_temp.asked(p_condition text, p_context text) returns text language sql as $$ select workflow.holds(p_condition::jsonpath, p_context::jsonb)::text $$;
select t.equal(workflow.holds(null, '{}')::text, 'true');
select t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {"x": 2}}'), 'true'), t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {"x": 1}}'), 'false');
select t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {}}'), 'false'), t.equal(pg_temp.asked('!($.inputs.x > 1)', '{"inputs": {}}'), 'true');
select t.equal(pg_temp.asked('$.inputs.x > 1', '{"inputs": {"x": "2"}}'), 'false'), t.equal(pg_temp.asked('!($.inputs.x > 1)', '{"inputs": {"x": "2"}}'), 'false');
-- A path that finds something is no condition.
select t.equal(pg_temp.asked('$.inputs.x', '{"inputs": {"x": 2}}'), 'false');
