-- claim: a text that was not given and an empty text have different hashes.
select t.equal(count(distinct internal.log_hash(
         '00000000-0000-0000-0000-000000000001', 1, '00000000-0000-0000-0000-000000000002', 'custom', 'm', 't', f.v, 'b', c.v, 'p', 'a', 'rpc',
         'r', r.v, '{}', e.v, null, 'k', null, null, '2026-01-01 00:00:00+00', null))::text, '16')
  from (values (null), ('')) f (v), (values (null), ('')) c (v), (values (null), ('')) r (v), (values (null), ('')) e (v);
