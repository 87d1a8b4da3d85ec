-- promise: what is called like this and the reader may see, the best first: a name that begins with it, a word that begins with it, a part
--          of it; units by the beginnings of words. Accents and case count for nothing, and đ is d. Two letters or fewer are the beginning of a word. With a run, its steps.
-- callers: chancery_app
create or replace function governance.fn_search(p_reader text, p_query text, p_kinds text[], p_run uuid, p_limit integer) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  -- More than this is not looked at to find the best of a kind: a word that everything is called by has no best.
  c_candidates constant integer := 100;
  v_spaced constant text := internal.spaced(left(p_query, 200));
  v_words constant text := btrim(v_spaced);
  v_sought constant text := case when length(v_words) < 3 then '  ' || v_words else v_words end;
  v_like constant text := '%' || v_sought || '%';
  v_pieces constant text[] := internal.trigrams(v_sought);
  -- Units by the beginnings of words.
  v_prefixes constant tsquery := case when v_words <> '' then to_tsquery('simple', regexp_replace(v_words, ' +', ':* & ', 'g') || ':*') end;
  v_classes text[];
  v_current constant uuid[] := array(select g.current_def_id from workflow.workflow_registry g);
  v_digits constant text := replace(regexp_replace(lower(btrim(p_query)), '^[a-z]{3}_', ''), '-', '');
  -- An id, with its prefix or as the command line prints it.
  v_id constant uuid := case when v_digits ~ '^[0-9a-f]{32}$' then v_digits::uuid end;
  v_found jsonb := '[]';
begin
  if v_words = '' then
    return v_found;
  end if;
  select i.actor_classes into v_classes from identity.principal i where i.name = p_reader and i.active;
  if 'step' = any (p_kinds) and identity.permits(p_reader, 'workflow.read') then
    if p_run is not null then
      v_found := v_found || (
        select coalesce(jsonb_agg(jsonb_build_object('kind', 'step', 'id', internal.prefixed('stp', s.step_run_id), 'name', s.step_key, 'title', jsonb_build_object('en', d.name_en, 'vi', d.name_vi),
                 'of', s.workflow_run_id, 'state', s.state_code, 'text', internal.spaced(d.step_key || ' ' || d.name_en || ' ' || d.name_vi))), '[]')
          from workflow.step_run s join workflow.workflow_step_def d using (step_def_id)
         where s.workflow_run_id = p_run and s.step_key <> all (workflow.hidden_of_run(p_run, p_reader))
           and internal.spaced(d.step_key || ' ' || d.name_en || ' ' || d.name_vi) like v_like);
    else
      -- One table alone, so that the search ends with the last candidate; what they belong to is looked up for these.
      v_found := v_found || (
        select coalesce(jsonb_agg(jsonb_build_object('kind', 'step', 'id', g.workflow || '/' || c.step_key, 'name', c.step_key,
                 'title', jsonb_build_object('en', c.name_en, 'vi', c.name_vi), 'of', g.workflow,
                 'text', internal.spaced(c.step_key || ' ' || c.name_en || ' ' || c.name_vi))), '[]')
          from (select d.workflow_def_id, d.step_key, d.name_en, d.name_vi
                  from workflow.workflow_step_def d
                 where internal.trigrams(internal.spaced(d.step_key || ' ' || d.name_en || ' ' || d.name_vi)) @> v_pieces
                   and d.workflow_def_id = any (v_current)
                   and internal.spaced(d.step_key || ' ' || d.name_en || ' ' || d.name_vi) like v_like
                   and (not exists (select from workflow.workflow_step_permission p where p.step_def_id = d.step_def_id)
                        or exists (select from workflow.workflow_step_permission p where p.step_def_id = d.step_def_id and p.actor_class = any (v_classes)))
                 limit c_candidates) c
          join workflow.workflow_registry g on g.current_def_id = c.workflow_def_id);
    end if;
  end if;
  if p_run is null and 'workflow' = any (p_kinds) and identity.permits(p_reader, 'workflow.read') then
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'workflow', 'id', c.workflow, 'name', c.workflow, 'title', jsonb_build_object('en', c.title), 'text', c.text)), '[]')
        from (select x.workflow, x.title, internal.spaced(x.workflow || ' ' || x.title) as text
                from (select g.workflow, q.title from workflow.workflow_registry g join workflow.workflow_version v on v.workflow_def_id = g.current_def_id
                        join workflow.workflow_change_requests q using (change_request_id)) x
               where internal.spaced(x.workflow || ' ' || x.title) like v_like limit c_candidates) c);
  end if;
  if p_run is null and 'run' = any (p_kinds) and identity.permits(p_reader, 'workflow.read') then
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'run', 'id', internal.prefixed('wfr', c.workflow_run_id), 'name', c.workflow, 'title', null, 'of', c.workflow,
               'state', c.state_code, 'text', internal.spaced(c.workflow))), '[]')
        from (select r.workflow_run_id, r.workflow, r.state_code
                from workflow.workflow_run r
               where case when v_id is not null then r.workflow_run_id = v_id
                          else r.workflow in (select g.workflow from workflow.workflow_registry g where internal.spaced(g.workflow) like v_like) end
               order by r.created_at desc limit 20) c);
  end if;
  if p_run is null and 'document' = any (p_kinds) and identity.permits(p_reader, 'doc.read') then
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'document', 'id', c.document_id, 'name', c.document_id, 'title', null, 'text', c.text)), '[]')
        from (select d.document_id, internal.spaced(d.document_id || ' ' || d.address_docprefix) as text from iu.source_document d
               where internal.spaced(d.document_id || ' ' || d.address_docprefix) like v_like limit c_candidates) c);
  end if;
  if p_run is null and 'unit' = any (p_kinds) and identity.permits(p_reader, 'doc.read') then
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'unit', 'id', internal.prefixed('unt', c.id), 'name', c.canonical_address, 'title', jsonb_build_object('vi', c.title), 'of', c.doc_code,
               'state', c.lifecycle_status, 'text', c.text)), '[]')
        from (select u.id, u.canonical_address, v.title, u.doc_code, u.lifecycle_status, internal.spaced(v.title) as text
                from iu.unit_version v join iu.information_unit u on u.version_anchor_ref = v.id
               where to_tsvector('simple'::regconfig, internal.folded(v.title)) @@ v_prefixes and u.deleted_at is null
               limit c_candidates) c);
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'unit', 'id', internal.prefixed('unt', u.id), 'name', u.canonical_address, 'title', jsonb_build_object('vi', v.title), 'of', u.doc_code,
               'state', u.lifecycle_status, 'text', internal.spaced(u.canonical_address))), '[]')
        from iu.information_unit u join iu.unit_version v on v.id = u.version_anchor_ref
       where u.canonical_address = btrim(p_query) and u.deleted_at is null);
  end if;
  if p_run is null and 'kb' = any (p_kinds) and identity.permits(p_reader, 'kb.read') then
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'kb', 'id', c.path, 'name', c.path, 'title', null, 'text', c.text)), '[]')
        from (select p.path, internal.spaced(p.path) as text from (select distinct r.path from kb.revision r) p where internal.spaced(p.path) like v_like limit c_candidates) c);
  end if;
  if p_run is null and 'principal' = any (p_kinds) and identity.permits(p_reader, 'principal.read') then
    v_found := v_found || (
      select coalesce(jsonb_agg(jsonb_build_object('kind', 'principal', 'id', c.name, 'name', c.name, 'title', null, 'text', c.text)), '[]')
        from (select i.name, internal.spaced(i.name) as text from identity.principal i where internal.spaced(i.name) like v_like limit c_candidates) c);
  end if;
  return (
    select coalesce(jsonb_agg(f - 'text' order by n), '[]')
      from (select f, row_number() over (order by f ->> 'text' not like '  ' || v_words || '%', f ->> 'text' not like '%  ' || v_words || '%', length(f ->> 'text'),
                                                  f ->> 'kind', f ->> 'id') as n
              from jsonb_array_elements(v_found) f) x
     where n <= p_limit);
end
$$;
