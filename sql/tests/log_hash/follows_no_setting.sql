-- claim: the hash of a row is the same in every time zone and date style.
do $claim$
declare
  v_zone text;
  v_hash bytea;
  v_first bytea;
begin
  foreach v_zone in array array['UTC', 'Asia/Ho_Chi_Minh', 'America/New_York', 'Pacific/Kiritimati'] loop
    perform set_config('timezone', v_zone, true);
    perform set_config('datestyle', 'SQL, DMY', true);
    perform set_config('bytea_output', 'escape', true);
    v_hash := internal.log_hash(
      '00000000-0000-0000-0000-000000000001', 1, '00000000-0000-0000-0000-000000000002', 'custom', 'm', 't', null, 'b', null, 'p', 'a',
      'rpc', 'r', null, '{}', null, '\x00ff'::bytea, 'k', null, '\x0102'::bytea, '2026-03-29 01:30:00.123456+00', null);
    v_first := coalesce(v_first, v_hash);
    perform t.equal(v_hash::text, v_first::text);
  end loop;
end
$claim$;
