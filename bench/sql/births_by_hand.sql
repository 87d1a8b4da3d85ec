-- The rows of an admission beside the row itself, set-based: the permit as it stands in the end, three log rows with their real hashes, the
-- birth with the digest of its row, three events. $1 are the codes, $2 the titles, $3 is the collection.
with given as materialized (
  select u.code, u.title, internal.uuid_v7() as permit_id, internal.uuid_v7() as birth_id, internal.uuid_v7() as reserve_id,
         internal.uuid_v7() as consume_id, internal.uuid_v7() as finalize_id, internal.now() as at,
         birth.request_hash($3::text, u.code, u.title, null, 'governed', null) as request_hash
    from unnest($1::text[], $2::text[]) u (code, title)),
reserved as materialized (
  select g.*, g.at + interval '1 hour' as expires_at, concat('{"request_hash":"', encode(g.request_hash, 'hex'), '"}') as evidence,
         concat('{"finalized_birth_id":"', g.birth_id, '"}') as payload, replace(g.permit_id::text, '-', '') as trace_id,
         birth.permit_digest(g.permit_id, g.request_hash, null, 'dot_birth_admit', null, g.at, g.at + interval '1 hour') as permit_digest,
         sha256(convert_to(concat(
           'chancery.row.v1,birth.birth_registry,', octet_length('permit'), ',', octet_length(g.birth_id::text), ',',
           octet_length((extract(epoch from g.at) * 1000000)::bigint::text), ',', octet_length(session_user::text), ',', octet_length($3::text), ',',
           octet_length('dot_birth_admit'), ',', octet_length(g.code), ',', octet_length(g.title), ',', octet_length('governed'), ',',
           octet_length(g.permit_id::text), ',', -1, ',', octet_length('born'), ',', octet_length(pg_current_xact_id()::text), ':',
           'permit', g.birth_id, (extract(epoch from g.at) * 1000000)::bigint, session_user, $3::text, 'dot_birth_admit', g.code, g.title, 'governed',
           g.permit_id, 'born', pg_current_xact_id()), 'UTF8')) as row_digest
    from given g),
first as materialized (
  select r.*, internal.log_hash(
           r.permit_id, 1, r.reserve_id, 'birth_permit', 'birth_permit@1.1.0', 'birth_permit@1.1.0#birth:∅>RESERVED/executor_worker', null, 'RESERVED', null, 'bench', 'executor_worker', 'rpc',
           'permit_request', null, r.evidence, 'permit.reserved', r.permit_digest, 'reserve', null, null, r.at, null) as first_hash
    from reserved r),
second as materialized (
  select f.*, concat('{"login":', to_json(session_user::text), '}') as consume_evidence, internal.log_hash(
           f.permit_id, 2, f.consume_id, 'birth_permit', 'birth_permit@1.1.0', 'birth_permit@1.1.0#consume:RESERVED>CONSUMED/system', 'RESERVED', 'CONSUMED', null, 'chancery', 'system', 'event',
           'permit_insert', null, concat('{"login":', to_json(session_user::text), '}'), 'permit.consumed', null, 'consume', null, null, f.at,
           f.first_hash) as second_hash
    from first f),
third as materialized (
  select s.*, concat('{"event":', s.payload, '}') as finalize_evidence, sha256(s.row_digest) as artefact, internal.log_hash(
           s.permit_id, 3, s.finalize_id, 'birth_permit', 'birth_permit@1.1.0', 'birth_permit@1.1.0#finalize:CONSUMED>FINALIZED/system', 'CONSUMED', 'FINALIZED', null, 'chancery', 'system', 'event',
           'permit_commit', null, concat('{"event":', s.payload, '}'), 'permit.finalized', sha256(s.row_digest), 'finalize', null, null, s.at,
           s.second_hash) as third_hash
    from second s),
permit as (
  insert into bench.birth_admission_permit (
    permit_id, collection_name, entity_code, request_hash, status, live, seq, head_hash, state_machine_id, entity_name, governance_role, requested_by_dot,
    started_by, requested_at, expires_at, consumed_at, consumed_xid, consumed_by, finalized_birth_id, trace_id, correlation_id, last_transition_at)
  select t.permit_id, $3::text, t.code, t.request_hash, 'FINALIZED', true, 3, t.third_hash, 'birth_permit@1.1.0', t.title, 'governed', 'dot_birth_admit',
         'bench', t.at, t.expires_at, t.at, pg_current_xact_id(), session_user, t.birth_id, t.trace_id, t.permit_id::text, t.at
    from third t),
birth as (
  insert into bench.birth_registry (
    birth_id, entity_code, collection_name, entity_name, governance_role, dot_origin, admission, permit_id, born_at, born_by, xid, row_digest)
  select t.birth_id, t.code, $3::text, t.title, 'governed', 'dot_birth_admit', 'permit', t.permit_id, t.at, session_user, pg_current_xact_id(), t.row_digest
    from third t),
log as (
  insert into bench.transition_log (
    run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class, trigger_kind, trigger_ref, evidence,
    event_type, artefact_digest, idempotency_key, at, prev_hash, hash)
  select t.permit_id, 1, t.reserve_id, 'birth_permit', 'birth_permit@1.1.0', 'birth_permit@1.1.0#birth:∅>RESERVED/executor_worker', null, 'RESERVED', 'bench', 'executor_worker', 'rpc',
         'permit_request', t.evidence, 'permit.reserved', t.permit_digest, 'reserve', t.at, null, t.first_hash
    from third t
  union all
  select t.permit_id, 2, t.consume_id, 'birth_permit', 'birth_permit@1.1.0', 'birth_permit@1.1.0#consume:RESERVED>CONSUMED/system', 'RESERVED', 'CONSUMED', 'chancery', 'system', 'event',
         'permit_insert', t.consume_evidence, 'permit.consumed', null, 'consume', t.at, t.first_hash, t.second_hash
    from third t
  union all
  select t.permit_id, 3, t.finalize_id, 'birth_permit', 'birth_permit@1.1.0', 'birth_permit@1.1.0#finalize:CONSUMED>FINALIZED/system', 'CONSUMED', 'FINALIZED', 'chancery', 'system', 'event',
         'permit_commit', t.finalize_evidence, 'permit.finalized', t.artefact, 'finalize', t.at, t.second_hash, t.third_hash
    from third t)
insert into bench.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
select t.reserve_id, t.at, 'permit.reserved', 'birth_permit', t.permit_id, 1, 'bench', t.trace_id, t.permit_id::text, '{}'::jsonb from third t
union all
select t.consume_id, t.at, 'permit.consumed', 'birth_permit', t.permit_id, 2, 'chancery', t.trace_id, t.permit_id::text, '{}'::jsonb from third t
union all
select t.finalize_id, t.at, 'permit.finalized', 'birth_permit', t.permit_id, 3, 'chancery', t.trace_id, t.permit_id::text, t.payload::jsonb from third t
