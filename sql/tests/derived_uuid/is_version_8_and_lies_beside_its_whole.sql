-- claim: a derived id is a UUID version 8 and begins with the six bytes of its whole.
select t.equal(substr(d::text, 15, 1), '8'), t.equal((substr(d::text, 20, 1) in ('8', '9', 'a', 'b'))::text, 'true'),
       t.equal(left(d::text, 13), left(w::text, 13))
  from (select w, internal.derived_uuid(w, 'unit,u' || n) as d
          from generate_series(1, 200) n, (values ('0199a3f0-7d3f-7b58-9a26-c80e4f51d37b'::uuid), (gen_random_uuid())) whole (w)) ids;
