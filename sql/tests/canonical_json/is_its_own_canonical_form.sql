-- claim: canonical text stays as it is.
select t.equal(internal.canonical_json(c.text::jsonb), c.text)
  from (values ('{"a":[1.5,-2,1e+21,1e-7,"x"],"b":{"c":null}}'), ('[]'), ('{}'), ('"\u0001"'), ('0'), ('1e+23'), ('{"x":{"y":{"z":[[[]]]}}}')) c (text);
