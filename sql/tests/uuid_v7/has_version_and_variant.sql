-- claim: every id says version 7 and the variant of RFC 9562, and no two are equal.
select t.equal(count(*) filter (where substr(u.id::text, 15, 1) = '7' and substr(u.id::text, 20, 1) in ('8', '9', 'a', 'b'))::text, '2000'),
       t.equal(count(distinct u.id)::text, '2000')
  from (select internal.uuid_v7() as id from generate_series(1, 2000)) u;
