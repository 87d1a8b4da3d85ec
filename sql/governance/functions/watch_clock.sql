-- promise: a clock of the server that went back is a finding, until it has passed the time that it had before. Times in the log do not go
--          back with it (fsm.move), but deadlines, leases and permits are judged by it.
-- callers: queue.fn_silent_check, so every few seconds
-- locks: the mark (update), then the finding
-- refuses with: RE021, RI001–RI004, RS018
create or replace function governance.watch_clock(p_principal text) returns void
language plpgsql
as $$
declare
  v_now timestamptz := internal.now();
  v_tolerance numeric := coalesce((select (c.value #>> '{}')::numeric from config.dot_config c where c.key = 'clock.back_tolerance_ms'), 1000);
  v_mark timestamptz;
begin
  select m.at into v_mark from governance.clock_mark m for update;
  if v_now < v_mark - make_interval(secs => v_tolerance / 1000) then
    perform governance.require_open(
      'clock', 'critical', 'clock_went_back', 'integrity', 'the clock of the database went back', null, 'database', 'clock',
      jsonb_build_object('was', internal.rfc3339(v_mark), 'is', internal.rfc3339(v_now), 'seconds_back', round(extract(epoch from v_mark - v_now), 3)), p_principal);
  elsif v_mark is null then
    insert into governance.clock_mark (at) values (v_now) on conflict do nothing;
  elsif v_now > v_mark then
    update governance.clock_mark set at = v_now;
    perform governance.issue_close('clock_went_back', 'database', 'clock', 'resolved', 'the clock has passed the time that it had before', p_principal);
  end if;
end
$$;
