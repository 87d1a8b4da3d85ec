-- promise: one sentence of what is true of a page for this reader, how it is meant, and the one thing to do next. Counted by what the page
--          lists, and nothing in it that the page itself would not show this reader. Null when there is no such page, or no such document.
-- callers: chancery_app
-- refuses with: RI001, RI002, RI040 the reader may not see the page; what the page's own door refuses when its subject is not there
--               (RW001, RA002, RC001, RO001, RB019, RS018, RE040, RE041)
create or replace function governance.fn_headline(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_said jsonb;
begin
  perform identity.require_permission(p_reader, 'self.read');
  v_said := case
    when p_page in ('problems', 'category', 'problem') then governance.headline_problems(p_reader, p_page, p_subject, p_locale)
    when p_page in ('inbox', 'approval', 'replay') then governance.headline_decisions(p_reader, p_page, p_subject, p_locale)
    when p_page in ('runs', 'run', 'step', 'task') then governance.headline_runs(p_reader, p_page, p_subject, p_locale)
    when p_page in ('workflows', 'workflow', 'change') then governance.headline_workflows(p_reader, p_page, p_subject, p_locale)
    when p_page in ('entries', 'entry', 'orchestrator', 'orchestrator_run', 'documents', 'document') then
      governance.headline_cuts(p_reader, p_page, p_subject, p_locale)
    when p_page in ('permits', 'permit', 'workers', 'lag') then governance.headline_works(p_reader, p_page, p_subject, p_locale)
    when p_page in ('kb', 'kb_document', 'machines', 'machine', 'audit', 'keys') then governance.headline_books(p_reader, p_page, p_subject, p_locale) end;
  return v_said || jsonb_build_object('page', p_page, 'subject', p_subject, 'locale', p_locale, 'at', internal.rfc3339(internal.now()));
end
$$;
