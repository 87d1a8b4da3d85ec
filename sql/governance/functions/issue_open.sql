-- promise: a finding about the problem is open. The same problem while one is open adds to its count: the worst severity stays, the
--          evidence is that of the newest. Otherwise it is born through the engine, with finding.opened. Problems are returned.
-- callers: doors of all rooms
-- arrow: ∅ → open
-- locks: the open finding of the same fingerprint (update), or its place in the index: two at once make one finding with two
--        occurrences. After the locks of the room that found it.
create or replace function governance.issue_open(
  p_source text, p_severity text, p_issue_type text, p_issue_class text, p_title text, p_description text, p_entity_type text,
  p_entity_code text, p_evidence jsonb, p_principal text, p_trace_id text default null, p_correlation_id text default null
) returns jsonb
language plpgsql
as $$
declare
  v_id uuid := internal.uuid_v7();
  v_now timestamptz := internal.now();
  v_severity text := governance.severity(p_severity);
  v_class text := governance.acting_class(p_principal, '{system,mow_orchestrator,executor_worker,executor_dot991,verifier_dot992,review_authority}');
  v_principal record;
  v_issue record;
  v_problems jsonb;
  v_report jsonb;
begin
  v_problems := governance.issue_problems(
    p_source, p_severity, p_issue_type, p_issue_class, p_title, p_description, p_entity_type, p_entity_code, coalesce(p_evidence, '{}'));
  if v_problems is null and (p_trace_id !~ '^[0-9a-f]{32}$' or p_trace_id ~ '^0+$') then
    v_problems := internal.problem('RE021', '{"field": "trace_id", "expected": "32 hexadecimal digits"}');
  end if;
  if v_problems is null then
    -- Asked before anything is written: a finding that the engine refuses to give birth to could not be taken back.
    select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
    v_problems := nullif(identity.actor_problems(
      p_principal, v_principal.kind, v_principal.active, v_principal.actor_classes, v_class, null, false), '[]');
  end if;
  if v_problems is not null then
    return jsonb_build_object('ok', false, 'problems', v_problems);
  end if;
  insert into governance.system_issues as i (
    issue_id, fingerprint, issue_type, issue_class, source_system, severity, title, description, entity_type, entity_code, evidence,
    occurrence_count, first_seen_at, last_seen_at, state_machine_id, state, seq, started_by, trace_id, correlation_id, last_transition_at)
  select v_id, governance.fingerprint(p_issue_type, p_entity_type, p_entity_code, p_source, p_title), p_issue_type, p_issue_class, p_source,
         v_severity, p_title, p_description, p_entity_type, p_entity_code, coalesce(p_evidence, '{}'), 1, v_now, v_now, m.state_machine_id,
         m.initial_state, 0, p_principal, coalesce(p_trace_id, replace(v_id::text, '-', '')), coalesce(p_correlation_id, v_id::text), v_now
    from fsm.state_machine_def m where m.scope = 'finding' and m.active
  on conflict (fingerprint) where state in ('open', 'acknowledged') do update
    set occurrence_count = i.occurrence_count + 1,
        -- The other one may have read the clock later and come first.
        last_seen_at = greatest(i.last_seen_at, excluded.last_seen_at),
        evidence = excluded.evidence,
        severity = case when 'critical' in (i.severity, excluded.severity) then 'critical'
                        when 'warning' in (i.severity, excluded.severity) then 'warning' else 'info' end
  returning i.issue_id, i.row_digest into v_issue;
  if not found then
    return jsonb_build_object('ok', false, 'problems', internal.problem('RS018', '{"machine": "finding", "active": []}'));
  end if;
  if v_issue.issue_id = v_id then
    v_report := fsm.move(
      v_id, 'finding', null, 'open', v_class, 'rpc', 'log_issue',
      jsonb_build_object('found', coalesce(p_evidence, '{}'), 'event', jsonb_strip_nulls(jsonb_build_object(
        'issue_type', p_issue_type, 'issue_class', p_issue_class, 'severity', v_severity, 'entity_type', p_entity_type, 'entity_code', p_entity_code))),
      p_principal, 'open', null, internal.artefact_digest(array[v_issue.row_digest]), null, null);
    if v_report -> 'ok' = 'false' then
      return jsonb_build_object('ok', false, 'problems', v_report -> 'problems');
    end if;
  end if;
  return governance.report(v_issue.issue_id) || jsonb_build_object('opened', v_issue.issue_id = v_id);
end
$$;
