-- promise: the series is up to date; every pair above a threshold has an open finding, and one that is measured below all of them
--          again has none: it is closed as healed. A pair of which nothing was measured keeps its finding: no news is not good news.
-- callers: chancery_app (system), each tick of the lag loop
-- locks: the cursor of the lag, then findings in the order of their pairs
-- refuses with: RS018 no machine for findings, RI001–RI004
create or replace function event.fn_event_lag_record(p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_seconds double precision := (select (c.value #>> '{}')::double precision from config.dot_config c where c.key = 'event_lag.window_seconds');
  v_rows integer;
  v_pair record;
  v_thresholds jsonb;
  v_breached jsonb;
  v_measured jsonb;
  v_found jsonb := '[]';
  v_healed jsonb := '[]';
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  v_rows := event.fold_lag();
  for v_pair in
    select l.producer, l.consumer, l.count, l.p50_ms, l.p95_ms, l.p99_ms, l.producer || '/' || l.consumer as code
      from event.lag_of(date_trunc('minute', internal.now() - make_interval(secs => v_seconds), 'UTC')) l
     order by 1, 2
  loop
    v_thresholds := jsonb_build_object(
      'p50', event.lag_threshold(v_pair.producer, v_pair.consumer, 'p50'), 'p95', event.lag_threshold(v_pair.producer, v_pair.consumer, 'p95'),
      'p99', event.lag_threshold(v_pair.producer, v_pair.consumer, 'p99'));
    v_measured := jsonb_build_object('p50', v_pair.p50_ms, 'p95', v_pair.p95_ms, 'p99', v_pair.p99_ms, 'count', v_pair.count);
    select jsonb_agg(k.key order by k.key) into v_breached
      from jsonb_each(v_thresholds) k where (v_measured ->> k.key)::double precision > (k.value #>> '{}')::double precision;
    if v_breached is not null then
      perform governance.require_open(
        -- Half of all events late is not a tail any more.
        'event_lag', case when v_breached ? 'p50' then 'critical' else 'warning' end, 'event_lag_breach', 'event_lag',
        format('events of %s reach %s late', v_pair.producer, v_pair.consumer), null, 'event_pair', v_pair.code,
        jsonb_build_object('producer', v_pair.producer, 'consumer', v_pair.consumer, 'measured', v_measured, 'thresholds', v_thresholds,
                           'breached', v_breached, 'window_seconds', v_seconds), p_principal);
      v_found := v_found || to_jsonb(v_pair.code);
    elsif governance.issue_close(
            'event_lag_breach', 'event_pair', v_pair.code, 'healed', 'measured below every threshold', p_principal,
            jsonb_build_object('measured', v_measured, 'thresholds', v_thresholds, 'window_seconds', v_seconds)) is not null then
      v_healed := v_healed || to_jsonb(v_pair.code);
    end if;
  end loop;
  return jsonb_build_object('recorded', v_rows, 'breached', v_found, 'healed', v_healed);
end
$$;
