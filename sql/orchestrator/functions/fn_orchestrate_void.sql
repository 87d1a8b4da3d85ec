-- promise: the run is void by a document that the sovereign signed: its request is given up, the units that nobody enacted are taken back,
--          and another run of the document may start.
-- callers: chancery_app, cutter_review (sovereign)
-- arrow: any but closed out → voided_sovereign; the request: any → abandoned
-- locks: the run (update), the request (update), its units (update)
-- refuses with: RO001, RC001, RA030 the key that signed the document was revoked, RI001–RI008, RI051, RS…
create or replace function orchestrator.fn_orchestrate_void(
  p_run_id uuid, p_evidence jsonb, p_reason text, p_principal text, p_key_id uuid, p_signature bytea, p_entry_evidence jsonb, p_entry_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_entry cutter_governance.decision_backlog_entry;
  v_digests bytea[];
  v_taken bytea[];
  v_report jsonb;
  v_verified constant bytea := fsm.require_move_signature('orchestrator_run', p_run_id, 'voided_sovereign', 'sovereign', 'rpc', 'orchestrate_void', p_evidence,
                                                          p_principal, 'void', p_reason, p_key_id, p_signature);
  v_entry_verified constant bytea := (
    select fsm.require_move_signature('cut_request', r.entry_id, 'abandoned', 'sovereign', 'rpc', 'abandon', p_entry_evidence, p_principal, 'void:' || r.run_name,
                                      p_reason, p_key_id, p_entry_signature)
      from orchestrator.run r join cutter_governance.decision_backlog_entry e on e.entry_id = r.entry_id and e.status <> 'abandoned'
     where r.run_id = p_run_id and p_entry_signature is not null);
begin
  v_run := orchestrator.require_run(p_run_id);
  if v_run.state_code = 'voided_sovereign' then
    return orchestrator.report(p_run_id, '{"replayed": true}');
  end if;
  v_report := orchestrator.revoked_signature(p_evidence ->> 'void_kb_id', 'void');
  if v_report is not null then
    perform internal.refuse(v_report);
  end if;
  v_digests := array[(select s.row_digest from kb.revision_signature s where s.path = p_evidence ->> 'void_kb_id' and s.meaning = 'void' order by s.revision desc limit 1)];
  select e.* into v_entry from cutter_governance.decision_backlog_entry e where e.entry_id = v_run.entry_id for update;
  if found and v_entry.status <> 'abandoned' then
    v_taken := orchestrator.take_back(v_run, p_principal);
    v_report := fsm.move(v_run.entry_id, 'cut_request', null, 'abandoned', 'sovereign', 'rpc', 'abandon', p_entry_evidence, p_principal,
                         'void:' || v_run.run_name, p_reason, case when v_taken <> '{}' then internal.artefact_digest(v_taken) end, p_key_id, p_entry_signature,
                         p_verified => v_entry_verified);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end if;
  v_report := fsm.move(p_run_id, 'orchestrator_run', null, 'voided_sovereign', 'sovereign', 'rpc', 'orchestrate_void', p_evidence, p_principal, 'void', p_reason,
                       internal.artefact_digest(v_digests), p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return orchestrator.report(p_run_id, '{}');
end
$$;
