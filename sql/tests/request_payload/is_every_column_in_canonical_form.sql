-- claim: a proposer signs every column of the request that means something, times as microseconds, digests in hex, nothing left out.
select t.equal(
  approval.request_payload(jsonb_populate_record(null::approval.approval_request, jsonb_build_object(
    'approval_id', '0199a3f0-7d3f-7b58-9a26-c80e4f51d37b', 'kind', 'note', 'subject_kind', 'note', 'subject_ref', 'n/1',
    'subject_digest', '\x0a0b'::bytea, 'risk', 'low', 'title', 'Gửi', 'facts', '{"cost":1.50,"a":[2,1]}', 'proposer', 'ana',
    'expires_at', '2026-10-15 14:18:02.000001Z', 'signed_at', '2026-10-15 14:18:02Z', 'key_id', '0199a3f0-0000-7000-8000-000000000001'))),
  '{"approval_id":"0199a3f0-7d3f-7b58-9a26-c80e4f51d37b","domain":"chancery.approval.v1","expires_at":1792073882000001,"facts":{"a":[2,1],"cost":1.5},'
  || '"key_id":"0199a3f0-0000-7000-8000-000000000001","kind":"note","meaning":"approval requested","principal":"ana","risk":"low",'
  || '"signed_at":1792073882000000,"subject_digest":"0a0b","subject_kind":"note","subject_ref":"n/1","title":"Gửi"}');
-- Without a digest the text says so.
select t.equal((approval.request_payload(jsonb_populate_record(null::approval.approval_request, '{"facts": "{}"}'))::jsonb -> 'subject_digest')::text, 'null');
