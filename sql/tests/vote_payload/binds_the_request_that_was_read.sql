-- claim: a voter signs the digest of the request, so a vote on one text is none on another.
select t.equal(
  approval.vote_payload('0199a3f0-9e02-7a41-8c55-2b7d60e1f3a8', '0199a3f0-7d3f-7b58-9a26-c80e4f51d37b', '\x0a0b', 'reject', null, 'ben', 'reviewer',
                        '0199a3f0-0000-7000-8000-000000000002', 1792073882000000),
  '{"actor_class":"reviewer","approval_id":"0199a3f0-7d3f-7b58-9a26-c80e4f51d37b","decision":"reject","domain":"chancery.approval.v1",'
  || '"key_id":"0199a3f0-0000-7000-8000-000000000002","meaning":"vote: reject","principal":"ben","rationale":null,"request_digest":"0a0b",'
  || '"signed_at":1792073882000000,"vote_id":"0199a3f0-9e02-7a41-8c55-2b7d60e1f3a8"}');
