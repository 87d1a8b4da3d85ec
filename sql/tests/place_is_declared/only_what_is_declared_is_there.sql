-- claim: of what a definition declares only the declared places are there; what it says nothing about is open, and of the rest nothing is added.
create function pg_temp.there(p_field text, p_path text) returns text language sql as $$
  select workflow.place_is_declared('{"properties": {"amount": {}, "due": {"format": "date-time"}, "who": {"properties": {"name": {}}}}}',
                                    '{"properties": {"pages": {}, "list": {"items": {"properties": {"x": {}}}}}}', p_field, p_path::jsonb)::text
$$;
select t.equal(pg_temp.there('when', p.path), 'true')
  from (values ('["inputs", "amount"]'), ('["inputs", "due_s"]'), ('["inputs", "who", "name"]'), ('["outputs", "a", "pages"]'), ('["outputs", "a"]'),
               ('["outputs", "a", "list", 0, "x"]'), ('["run", "started_by"]'), ('["actor", "class"]')) p (path);
select t.equal(pg_temp.there('when', p.path), 'false')
  from (values ('["inputs", "ammount"]'), ('["inputs", "amount_s"]'), ('["inputs", "who", "id"]'), ('["outputs", "a", "page"]'), ('["outputs", "a", "list", 0, "y"]'),
               ('["output", "pages"]'), ('["run", "startedby"]'), ('["actor", "id"]'), ('["evidence"]')) p (path);
select t.equal(pg_temp.there('postcondition', '["output", "pages"]'), 'true'), t.equal(pg_temp.there('postcondition', '["output", "page"]'), 'false');
select t.equal(workflow.place_is_declared(null, null, 'when', '["inputs", "x"]')::text, 'true'),
       t.equal(workflow.place_is_declared(null, null, 'when', '["outputs", "a", "x"]')::text, 'true'),
       t.equal(workflow.place_is_declared(null, null, 'when', '["run", "x"]')::text, 'false');
