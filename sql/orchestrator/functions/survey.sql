-- owner: chancery_guard
-- promise: what must not change under a run: how many units live under its document's prefix, what the writers of units are, how many
--          decisions there are on its request, and which version of the document is the newest.
create or replace function orchestrator.survey(p_run_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'row_count', (select count(*) from iu.source_document d join iu.information_unit u on u.doc_code = d.address_docprefix
                   where d.document_id = r.document_id and u.deleted_at is null),
    'functions', (select jsonb_object_agg(w.name, (
                    -- Every function of the name: another one with other arguments would be called as easily.
                    select string_agg(md5(p.prosrc), ',' order by p.pronargs, p.oid)
                      from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'iu' and p.proname = w.name))
                    from unnest(array['fn_iu_create', 'fn_iu_enact', 'fn_iu_apply_edit_draft']) w (name)),
    'review_decisions', (select count(*) from cutter_governance.review_decision d where d.entry_id = r.entry_id),
    'source_version', (select v.source_version_id from iu.source_version v where v.document_id = r.document_id order by v.version_seq desc limit 1))
    from orchestrator.run r where r.run_id = p_run_id
$$;
