-- promise: a run of the document's newest version exists, pending. The same id gives it again. What can be known to fail later is refused
--          before there is a run; p_plan says what the runner would make: how many units, which words. Without it, only the gates look.
-- callers: cutter_exec (executor_dot991)
-- arrow: ∅ → pending
-- refuses with: RO006 no such document, RO007 the document has a run, RO008 this version was enacted by a run, RO009 the name, RO013
--               what would fail, RS018, RI001–RI004
create or replace function orchestrator.fn_orchestrate_start(p_run_id uuid, p_run_name text, p_document_id text, p_entry_id uuid, p_principal text, p_trace_id text default null,
                                                            p_plan jsonb default null)
returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_existing orchestrator.run;
  v_source_version_id uuid;
  v_digest bytea;
  v_report jsonb;
  v_problems jsonb;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'executor_dot991');
  if p_run_id is null or p_entry_id is null or p_run_name is null or p_run_name !~ '^ictr-[0-9]{8}T[0-9]{6}Z-[0-9a-f-]{36}$' or substr(p_run_name, 23) <> p_run_id::text
     or p_trace_id !~ '^[0-9a-f]{32}$' or p_trace_id ~ '^0+$'
     -- A run marks its request itself: one that is there already is somebody else's.
     or exists (select from cutter_governance.decision_backlog_entry e
                 where e.entry_id = p_entry_id and not exists (select from orchestrator.run r where r.entry_id = e.entry_id)) then
    perform internal.refuse(internal.problem('RO009', jsonb_build_object('run_uuid', p_run_id, 'run_id', p_run_name)));
  end if;
  -- Two starts at once: the second waits here and then sees the first.
  perform internal.take_turn('orchestrator.document:' || p_document_id);
  select r.* into v_existing from orchestrator.run r where r.run_id = p_run_id;
  if found and v_existing.document_id = p_document_id then
    return orchestrator.report(p_run_id, '{"replayed": true}');
  end if;
  v_source_version_id := (select v.source_version_id from iu.source_version v where v.document_id = p_document_id order by v.version_seq desc limit 1);
  if v_source_version_id is null then
    perform internal.refuse(internal.problem('RO006', jsonb_build_object('document_id', p_document_id)));
  end if;
  select r.* into v_existing from orchestrator.run r
   where r.document_id = p_document_id and r.state_code <> all ('{closeout_reported,voided_sovereign}') or r.run_id = p_run_id or r.entry_id = p_entry_id;
  if found then
    perform internal.refuse(internal.problem('RO007', jsonb_build_object(
      'document_id', p_document_id, 'run_id', v_existing.run_name, 'state', v_existing.state_code,
      'way', case when starts_with(v_existing.state_code, 'failed_') then 'cutter orchestrate void --run-id ' || v_existing.run_name || ' --reason TEXT'
                  else 'cutter orchestrate resume --run-id ' || v_existing.run_name end)));
  end if;
  select r.* into v_existing from orchestrator.run r where r.source_version_id = v_source_version_id and r.state_code = 'closeout_reported' limit 1;
  if found then
    perform internal.refuse(internal.problem('RO008', jsonb_build_object(
      'document_id', p_document_id, 'source_version_id', v_source_version_id, 'run_id', v_existing.run_name)));
  end if;
  v_problems := case when p_plan is null then '[]' else orchestrator.start_problems(p_document_id, p_principal, p_plan) end;
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
  insert into orchestrator.run (
    run_id, run_name, state_machine_id, state_code, seq, document_id, source_version_id, entry_id, started_by, trace_id, correlation_id, created_at, last_transition_at)
  select p_run_id, p_run_name, m.state_machine_id, m.initial_state, 0, p_document_id, v_source_version_id, p_entry_id, p_principal,
         coalesce(p_trace_id, replace(internal.uuid_v7()::text, '-', '')), p_run_name, internal.now(), internal.now()
    from fsm.state_machine_def m where m.scope = 'orchestrator_run' and m.active
  returning row_digest into v_digest;
  if not found then
    perform internal.refuse(internal.problem('RS018', '{"machine": "orchestrator_run", "active": []}'));
  end if;
  v_report := fsm.move(p_run_id, 'orchestrator_run', null, 'pending', 'executor_dot991', 'rpc', 'orchestrate_start',
                       jsonb_build_object('run_name', p_run_name), p_principal, 'start', null, internal.artefact_digest(array[v_digest]), null, null);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return orchestrator.report(p_run_id, '{}');
end
$$;
