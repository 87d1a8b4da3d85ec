-- claim: what stands at the end of one text cannot be moved to the start of the next.
select t.equal(count(distinct internal.log_hash(
         '00000000-0000-0000-0000-000000000001', 1, '00000000-0000-0000-0000-000000000002', 'custom', 'm', 't', v.from_state, v.to_state, null,
         v.principal, 'a', 'rpc', 'r', v.reason, '{}', null, null, v.key, null, null, '2026-01-01 00:00:00+00', null))::text, '6')
  from (values ('ab', 'c', 'd', 'e', 'f'), ('a', 'bc', 'd', 'e', 'f'), ('ab', 'cd', '', 'e', 'f'), ('ab', 'c', 'd', 'ef', ''),
               ('', 'abc', 'd', 'e', 'f'), ('ab', 'c', 'd', '', 'ef')) v (from_state, to_state, principal, reason, key);
