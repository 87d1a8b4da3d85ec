-- promise: a document of the run stands in the knowledge base; gives its path, revision and digest.
create or replace function orchestrator.put_document(
  p_run orchestrator.run, p_name text, p_kind text, p_body text, p_principal text, p_actor_class text, out path text, out revision integer, out digest bytea
)
language plpgsql
as $$
begin
  path := orchestrator.document_path(p_run.run_name, p_name);
  revision := (kb.put_revision(path, p_kind, p_body, null, p_principal, p_actor_class) ->> 'revision')::integer;
  digest := (select k.row_digest from kb.revision k where k.path = put_document.path and k.revision = put_document.revision);
end
$$;
