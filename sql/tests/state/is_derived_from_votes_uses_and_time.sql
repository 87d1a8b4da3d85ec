-- claim: a request is pending until its quorum, a rejection or its end; used comes before all, a rejection before the end.
select identity.fn_principal_add(n, 'human', '{}') from unnest(array['ana', 'ben', 'cai', 'dua']) n;
set local role chancery_definer;
select identity.register_key('0199a3f0-0000-7000-8000-000000000001', 'ana', decode(repeat('22', 32), 'hex'), null, null);
reset role;
-- Rows as the doors would leave them: what is asked here is the arithmetic.
alter table approval.approval_request disable trigger user;
alter table approval.approval_vote disable trigger user;
alter table approval.approval_use disable trigger user;
insert into approval.approval_request (approval_id, kind, subject_kind, subject_ref, risk, title, facts, proposer, requested_at, expires_at, key_id,
                                       request_payload, signature, signed_at, row_digest)
select ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'run_transition', 'run', 'r', risk, 'T', '{}', 'ana', '2026-10-15 14:00:00Z', '2026-10-15 15:00:00Z',
       '0199a3f0-0000-7000-8000-000000000001', '{}', decode(repeat('00', 64), 'hex'), '2026-10-15 14:00:00Z', '\x00'
  from (values (1, 'low'), (2, 'medium'), (3, 'high')) r (n, risk);
create function pg_temp.vote(p_n integer, p_voter text, p_seq integer, p_decision text, p_counted_as text) returns void language sql as $$
  insert into approval.approval_vote (vote_id, approval_id, voter, vote_seq, decision, counted_as, key_id, vote_payload, signature, signed_at, voted_at, row_digest)
  values (gen_random_uuid(), ('00000000-0000-0000-0000-00000000000' || p_n)::uuid, p_voter, p_seq, p_decision, p_counted_as,
          '0199a3f0-0000-7000-8000-000000000001', '{}', decode(repeat('00', 64), 'hex'), '2026-10-15 14:00:00Z', '2026-10-15 14:00:00Z', '\x00')
$$;
create or replace function internal.now() returns timestamptz language sql as $$ select timestamptz '2026-10-15 14:59:59.999999Z' $$;
create function pg_temp.states() returns text language sql as $$
  select string_agg(approval.state(('00000000-0000-0000-0000-00000000000' || n)::uuid), ' ' order by n) from generate_series(1, 3) n
$$;
select t.equal(pg_temp.states(), 'pending pending pending');
select pg_temp.vote(n, 'ben', 1, 'approve', 'reviewer') from generate_series(1, 3) n;
select t.equal(pg_temp.states(), 'approved pending pending');
select pg_temp.vote(n, 'cai', 1, 'approve', 'sovereign') from generate_series(2, 3) n;
select t.equal(pg_temp.states(), 'approved approved pending');
select pg_temp.vote(3, 'dua', 1, 'approve', 'reviewer');
select t.equal(pg_temp.states(), 'approved approved approved');
select pg_temp.vote(2, 'dua', 1, 'reject', 'other');
select t.equal(pg_temp.states(), 'approved rejected approved');
insert into approval.approval_use (approval_id, used_for_kind, used_for_ref, used_by, used_at, row_digest)
values ('00000000-0000-0000-0000-000000000001', 'run', 'r', 'ana', '2026-10-15 14:30:00Z', '\x00');
create or replace function internal.now() returns timestamptz language sql as $$ select timestamptz '2026-10-15 15:00:00Z' $$;
select t.equal(pg_temp.states(), 'used rejected expired');
select t.equal(approval.state('00000000-0000-0000-0000-000000000009'), null);
