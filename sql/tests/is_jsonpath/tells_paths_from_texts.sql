-- claim: what PostgreSQL can read as an SQL/JSON path is one, everything else is none, nothing is none.
select t.equal(fsm.is_jsonpath(r.rule)::text, 'true')
  from (values ('$.run.data.amount <= 1000'), ('$.evidence.reason.type() == "string"'), ('exists($.a)'), ('$.a like_regex "^x"'), ('$.run."G-1" == true && !($.b > 1)')) r (rule);
select t.equal(fsm.is_jsonpath(r.rule)::text, 'false')
  from (values (''), ('$.a >'), ('a.b'), ('$.a like_regex "("'), ('$.a == "x'), ('select 1'), (null)) r (rule);
