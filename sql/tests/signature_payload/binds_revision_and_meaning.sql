-- claim: a signature is under the bytes of one revision of one document, with one meaning.
select t.equal(
  kb.signature_payload('0199a3f0-9e02-7a41-8c55-2b7d60e1f3a8', 'policies/travel', 3, '\x0a0b', 'đã duyệt', 'ana',
                       '0199a3f0-0000-7000-8000-000000000001', 1792073882000000),
  '{"domain":"chancery.kb.v1","key_id":"0199a3f0-0000-7000-8000-000000000001","meaning":"đã duyệt","path":"policies/travel","principal":"ana",'
  || '"revision":3,"sha256":"0a0b","signature_id":"0199a3f0-9e02-7a41-8c55-2b7d60e1f3a8","signed_at":1792073882000000}');
select t.equal(count(distinct kb.signature_payload('0199a3f0-9e02-7a41-8c55-2b7d60e1f3a8', path, revision, sha, meaning, 'ana', null, 1))::text, '16')
  from (values ('a'), ('b')) p (path), (values (1), (2)) r (revision), (values ('\x01'::bytea), ('\x02')) s (sha), (values ('read'), ('approved')) m (meaning);
