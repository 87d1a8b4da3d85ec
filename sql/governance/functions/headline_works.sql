-- promise: the head of the pages of permits, workers and lag.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RB019
create or replace function governance.headline_works(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_id uuid := internal.uuid_or_null(p_subject);
  v_found record;
  v_state record;
  v_worst record;
  v_n bigint;
  v_seconds text;
begin
  perform identity.require_permission(p_reader, case when p_page in ('permits', 'permit') then 'birth.read' else 'queue.read' end);
  if p_page = 'permits' then
    select count(*) as n, min(p.expires_at) as next, (array_agg(p.permit_id order by p.expires_at))[1] as first into v_found
      from birth.birth_admission_permit p where p.live and p.seq = 1 and p.status = 'RESERVED';
    return governance.say(
      p_locale, case when v_found.next < internal.now() + interval '5 minutes' then 'warn' else 'plain' end,
      governance.counted('headline.permits', v_found.n, p_locale, jsonb_build_object('due', governance.due_words(v_found.next, p_locale))),
      'open_first', '/permits/' || internal.prefixed('prm', v_found.first));
  end if;
  if p_page = 'permit' then
    select p.permit_id, p.collection_name, p.entity_code, p.status, p.state_machine_id, p.expires_at, p.last_transition_at, p.started_by into v_found
      from birth.birth_admission_permit p where p.permit_id = v_id;
    if not found then
      perform internal.refuse(internal.problem('RB019', jsonb_build_object('permit_id', coalesce(v_id::text, left(p_subject, 200)))));
    end if;
    select w.label, w.message, w.tone into v_state from governance.state_words(v_found.state_machine_id, v_found.status, p_locale) w;
    return governance.say(
      p_locale, v_state.tone,
      governance.words('headline.permit', p_locale, jsonb_build_object('collection', v_found.collection_name, 'code', v_found.entity_code, 'label', v_state.label))
      || ' ' || case v_found.status
                  when 'RESERVED' then governance.words(case when v_found.expires_at < internal.now() then 'headline.permit.was_due' else 'headline.permit.due' end, p_locale,
                                                        jsonb_build_object('due', governance.due_words(v_found.expires_at, p_locale)))
                  else v_state.message || ', ' || governance.age_words(v_found.last_transition_at, p_locale) || '.' end,
      'see_permits', '/permits');
  end if;
  if p_page = 'workers' then
    select count(*) into v_n from queue.queue_heartbeat h;
    -- As the problems count them, without the findings about workers that are gone.
    select count(*) as n, min(p.since) as since, (array_agg(p.item_id order by p.since))[1] as first into v_found
      from governance.vw_governance_silent_workers p where p.source_ref like 'heartbeat:%';
    if v_found.n = 0 then
      return governance.say(p_locale, case when v_n = 0 then 'plain' else 'good' end, governance.counted('headline.workers', v_n, p_locale));
    end if;
    return governance.say(
      p_locale, 'bad',
      governance.counted('headline.workers.silent', v_found.n, p_locale, jsonb_build_object(
        'all', governance.number_words(v_n, p_locale), 'worker', v_found.first, 'age', governance.age_words(v_found.since, p_locale))),
      'open_worst', case when identity.permits(p_reader, 'problems.silent_worker') then '/governance/problems/silent_worker/' || governance.url_part(v_found.first) end);
  end if;
  select count(*) as n, (array_agg(p.item_id order by governance.severity_rank(p.severity), p.since))[1] as first, min(governance.severity_rank(p.severity)) as rank into v_found
    from governance.vw_governance_event_lag p;
  if v_found.n > 0 then
    return governance.say(
      p_locale, case v_found.rank when 1 then 'bad' else 'warn' end,
      governance.counted('headline.lag.late', v_found.n, p_locale, jsonb_build_object('pair', replace(v_found.first, '/', ' → '))),
      'open_worst', case when identity.permits(p_reader, 'problems.event_lag') then '/governance/problems/event_lag/' || governance.url_part(v_found.first) end);
  end if;
  select governance.number_words((c.value #>> '{}')::double precision::bigint, p_locale) into v_seconds
    from config.dot_config c where c.key = 'event_lag.window_seconds';
  select l.p95_ms, l.producer, l.consumer into v_worst
    from (select make_interval(secs => (c.value #>> '{}')::double precision) as width from config.dot_config c where c.key = 'event_lag.window_seconds') w,
         lateral event.fn_event_lag_compute(w.width) l order by l.p95_ms desc limit 1;
  -- The page lists longer windows: over which time this is said stands in the sentence.
  if v_worst.producer is null then
    return governance.say(p_locale, 'plain', governance.words('headline.lag.none', p_locale, jsonb_build_object('seconds', v_seconds)));
  end if;
  return governance.say(p_locale, 'good', governance.words('headline.lag.well', p_locale, jsonb_build_object(
    'seconds', v_seconds, 'ms', governance.number_words(v_worst.p95_ms::bigint, p_locale), 'pair', v_worst.producer || ' → ' || v_worst.consumer)));
end
$$;
