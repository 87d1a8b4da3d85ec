-- claim: a problem is its code, its name and the facts; a fact cannot pass for the code.
select t.equal(internal.problem('RS001', '{"run_id": "x", "code": "RS002", "problem": "none"}')::text,
               '[{"code": "RS001", "run_id": "x", "problem": "run_unknown"}]');
