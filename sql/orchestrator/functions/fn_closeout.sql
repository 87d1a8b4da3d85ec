-- promise: the final report is in the knowledge base, the run has its one line in the index of the day, and the run is over.
-- callers: cutter_exec (executor_dot991)
-- arrow: lifecycle_enacted → closeout_reported
-- locks: the run (update), the index (its turn)
-- refuses with: RO001–RO003, RO005, RA020, RI001–RI004, RS…
create or replace function orchestrator.fn_closeout(p_run_id uuid, p_evidence jsonb, p_document text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_before jsonb;
  -- One page a day: an index of one page would be stored again, whole, with every run.
  v_index text := 'orchestrator/runs-index/' || to_char(internal.now() at time zone 'UTC', 'YYYY-MM-DD');
  v_page text;
  v_pins jsonb;
  v_revision jsonb;
begin
  v_run := orchestrator.require_run(p_run_id);
  v_before := orchestrator.passed_before(v_run, 'IG_closeout');
  if v_before is not null then
    return v_before;
  end if;
  perform orchestrator.require_no_drift(v_run);
  v_pins := orchestrator.pins(p_run_id);
  perform internal.take_turn('kb.path:' || v_index);
  v_page := coalesce((select k.body from kb.revision k where k.path = v_index order by k.revision desc limit 1), E'# Runs that were closed out\n\n');
  v_revision := kb.put_revision(v_index, 'index', v_page || concat(
    '- ', v_run.run_name, ' · ', v_run.document_id, ' · ', v_pins ->> 'candidate_count', ' units · writer ', v_pins ->> 'writer_digest', E'\n'),
    null, p_principal, 'executor_dot991') -> 'revision';
  return orchestrator.pass(v_run, 'IG_closeout', p_evidence || jsonb_build_object('index_kb_id', v_index, 'index_kb_revision', v_revision), p_document, p_principal, 'executor_dot991', '{}');
end
$$;
