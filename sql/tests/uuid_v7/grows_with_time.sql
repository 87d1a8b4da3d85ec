-- claim: the first 48 bits are the milliseconds of the clock, so ids made later never sort before by them.
do $claim$
declare
  v_before bigint := extract(epoch from clock_timestamp()) * 1000 - 1;
  v_after bigint;
  v_prefixes bigint[];
begin
  for v_n in 1 .. 500 loop
    v_prefixes := v_prefixes || ('x' || substr(replace(internal.uuid_v7()::text, '-', ''), 1, 12))::bit(48)::bigint;
  end loop;
  v_after := extract(epoch from clock_timestamp()) * 1000 + 1;
  perform t.equal((select bool_and(p between v_before and v_after) from unnest(v_prefixes) p)::text, 'true');
  perform t.equal((select bool_and(p >= previous) from (
    select p, lag(p, 1, p) over (order by n) as previous from unnest(v_prefixes) with ordinality u (p, n)) s)::text, 'true');
end
$claim$;
