-- claim: no column of a log row can change without its hash changing.
do $claim$
declare
  v_hashes bytea[];
begin
  -- One row in the middle of nowhere, then one row for each column that differs from it.
  with row_of (n) as (select generate_series(0, 22))
  select array_agg(internal.log_hash(
           case when n = 1 then '11111111-1111-1111-1111-111111111111' else '00000000-0000-0000-0000-000000000001' end::uuid,
           case when n = 2 then 8 else 7 end,
           case when n = 3 then '11111111-1111-1111-1111-111111111112' else '00000000-0000-0000-0000-000000000002' end::uuid,
           case when n = 4 then 'x' else 'custom' end,
           case when n = 5 then 'x' else 'parcel@1.0.0' end,
           case when n = 6 then 'x' else 'parcel@1.0.0#pack:open>packed/executor_worker' end,
           case when n = 7 then 'x' else 'open' end,
           case when n = 8 then 'x' else 'packed' end,
           case when n = 9 then 'x' else 'waiting_human' end,
           case when n = 10 then 'x' else 'worker' end,
           case when n = 11 then 'x' else 'executor_worker' end,
           case when n = 12 then 'x' else 'rpc' end,
           case when n = 13 then 'x' else 'parcel_pack' end,
           case when n = 14 then 'x' else 'because' end,
           case when n = 15 then 'x' else '{}' end,
           case when n = 16 then 'x' else 'parcel.packed' end,
           case when n = 17 then 'x' else 'digest' end::bytea,
           case when n = 18 then 'x' else 'key' end,
           case when n = 19 then '11111111-1111-1111-1111-111111111113' else '00000000-0000-0000-0000-000000000003' end::uuid,
           case when n = 20 then 'x' else 'signature' end::bytea,
           case when n = 21 then '2026-01-01 00:00:00.000001+00' else '2026-01-01 00:00:00+00' end::timestamptz,
           case when n = 22 then 'x' else 'hash' end::bytea)) into v_hashes
    from row_of;
  perform t.equal((select count(distinct h) from unnest(v_hashes) h)::text, '23');
  -- Every column but the hash itself and its version, which its text begins with, is an argument, also one that is added later.
  perform t.equal(
    (select pronargs from pg_proc where oid = 'internal.log_hash'::regproc)::text,
    (select count(*) - 2 from pg_attribute where attrelid = 'fsm.transition_log'::regclass and attnum > 0 and not attisdropped)::text);
end
$claim$;
