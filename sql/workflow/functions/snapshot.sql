-- promise: a document of a step or task is kept as it is; gives the digest of its row.
create or replace function workflow.snapshot(p_work workflow.work, p_kind text, p_document jsonb) returns bytea
language plpgsql
as $$
declare
  v_text constant text := internal.canonical_json(p_document);
  v_digest bytea;
begin
  insert into workflow.step_run_snapshot (snapshot_id, run_kind, run_id, snapshot_kind, cycle_no, attempt, document, document_sha256, taken_at)
  values (workflow.snapshot_id(p_work, p_kind), p_work.run_kind, p_work.run_id, p_kind, p_work.cycle_no, p_work.retry_count, v_text,
          sha256(convert_to(v_text, 'UTF8')), internal.now())
  returning row_digest into v_digest;
  return v_digest;
end
$$;
