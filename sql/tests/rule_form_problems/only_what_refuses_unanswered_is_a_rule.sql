-- claim: a rule that could hold although it cannot be answered is no rule, and texts that only look like one of those are.
select t.equal(array_to_string(fsm.rule_form_problems(r.rule), ','), '')
  from (values ('$.a == 1'), ('!($.b == 1)'), ('$.l.size() == 2'), ('$.l[last] == 1 || $.l[0] < -1'), ('"$.x ? (" == $.s'), ('$.a.b.type() == "is unknown"'),
               ('$."a.b"."c d" * $.c > 2 && !($.a like_regex "^x" flag "i")')) r (rule);
select t.equal(array_to_string(fsm.rule_form_problems(r.rule), ','), r.why)
  from (values ('$.a >', 'no_json_path'), ('$.a', 'no_predicate'), ('true', 'no_predicate'), ('lax $.a == 1', 'mode'), ('$.a.b ? (@.typo == 1).by == "x"', 'filter'),
               ('exists($.a)', 'exists'), ('($.b == 1) is unknown', 'is_unknown'), ('$.l[*] == 1', 'wildcard'), ('$.**.x == 1', 'wildcard'), ('$.l[0 to 1] == 1', 'subscript'),
               ('$.o.keyvalue().key == "x"', 'keyvalue'), ('$x == 1', 'variable'), ('$.a.datetime() < "2020-01-01".datetime()', 'datetime'),
               ('(-$.a).b == 1', 'computed'), ('$.a /* c */ == 1', 'comment_or_escape')) r (rule, why);
