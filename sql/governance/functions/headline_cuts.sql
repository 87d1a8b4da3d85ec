-- promise: the head of the pages of requests to cut, of the orchestrator's runs, and of documents.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RC001, RO001
create or replace function governance.headline_cuts(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_id uuid := internal.uuid_or_null(p_subject);
  v_found record;
  v_state record;
  v_n bigint;
  v_path text;
begin
  perform identity.require_permission(p_reader, case when p_page in ('entries', 'entry') then 'entry.read' when p_page in ('documents', 'document') then 'doc.read'
                                                     else 'orchestrator.read' end);
  if p_page = 'entries' then
    select count(*) as open, count(*) filter (where e.status = 'review_pending') as review, count(*) filter (where e.status = 'verify_failed_escalated') as failed,
           (array_agg(e.entry_id order by e.status = 'verify_failed_escalated' desc, e.status = 'review_pending' desc, e.emitted_at))[1] as first into v_found
      from cutter_governance.decision_backlog_entry e where e.status not in ('verified_complete', 'reviewed_rejected', 'abandoned');
    return governance.say(
      p_locale, case when v_found.failed > 0 then 'bad' when v_found.review > 0 then 'warn' else 'plain' end,
      governance.counted('headline.entries', v_found.open, p_locale)
      || case when v_found.failed > 0 then ' ' || governance.counted('headline.entries.failed', v_found.failed, p_locale) else '' end
      || case when v_found.review > 0 then ' ' || governance.counted('headline.entries.review', v_found.review, p_locale) else '' end,
      case when v_found.open > 0 then 'open_first' else 'see_documents' end, coalesce('/entries/' || internal.prefixed('ent', v_found.first), '/documents'));
  end if;
  if p_page = 'entry' then
    select e.entry_id, e.document_id, e.status, e.state_machine_id, e.started_by, e.last_transition_at,
           (select c.emitted_by from cutter_governance.cut_change_set c where c.decision_backlog_entry_id = e.entry_id and c.change_kind = 'apply' order by c.emitted_at desc limit 1) as cut_by,
           (select l.principal from fsm.transition_log l where l.run_id = e.entry_id order by l.seq desc limit 1) as actor,
           (select o.run_id from orchestrator.run o where o.entry_id = e.entry_id) as run_id into v_found
      from cutter_governance.decision_backlog_entry e where e.entry_id = v_id;
    if not found then
      perform internal.refuse(internal.problem('RC001', jsonb_build_object('entry_id', coalesce(v_id::text, left(p_subject, 200)))));
    end if;
    select w.label, w.message, w.tone into v_state from governance.state_words(v_found.state_machine_id, v_found.status, p_locale) w;
    return governance.say(
      p_locale, v_state.tone,
      governance.words('headline.entry', p_locale, jsonb_build_object('document', coalesce(v_found.document_id, '—'), 'label', v_state.label, 'by', v_found.actor,
        'age', governance.age_words(v_found.last_transition_at, p_locale)))
      || ' ' || case when v_found.status = 'cut_applied' and v_found.cut_by is not null
                     then governance.words('headline.entry.cut_applied', p_locale, jsonb_build_object('by', v_found.cut_by))
                     else v_state.message || '.' end,
      case when v_found.run_id is not null and identity.permits(p_reader, 'orchestrator.read') then 'see_orchestrator'
           when v_found.status in ('verified_complete', 'reviewed_rejected', 'abandoned') and v_found.document_id is not null then 'see_document'
           else 'next_step' end,
      case when v_found.run_id is not null and identity.permits(p_reader, 'orchestrator.read') then '/orchestrator/' || internal.prefixed('orc', v_found.run_id)
           when v_found.status in ('verified_complete', 'reviewed_rejected', 'abandoned') and v_found.document_id is not null then '/documents/' || v_found.document_id
           else '/entries/' || internal.prefixed('ent', v_id) || '#act' end);
  end if;
  if p_page = 'orchestrator' then
    -- What failed is over; for a day it is still news.
    select count(*) filter (where not x.over) as open, count(*) filter (where x.asks) as asks, count(*) filter (where x.failed) as failed,
           (array_agg(x.run_id order by x.failed desc, x.asks desc, x.created_at))[1] as first into v_found
      from (select r.run_id, r.created_at, d.is_terminal as over, starts_with(r.state_code, 'awaiting_') as asks,
                   starts_with(r.state_code, 'stopped_') or d.semantic_class = 'red' as failed
              from orchestrator.run r join fsm.state_def d using (state_machine_id, state_code)
             where not d.is_terminal or d.semantic_class = 'red' and r.last_transition_at > internal.now() - interval '1 day') x;
    return governance.say(
      p_locale, case when v_found.failed > 0 then 'bad' when v_found.asks > 0 then 'warn' when v_found.open > 0 then 'good' else 'plain' end,
      governance.counted('headline.orchestrator', v_found.open, p_locale)
      || case when v_found.failed > 0 then ' ' || governance.counted('headline.orchestrator.failed', v_found.failed, p_locale) else '' end
      || case when v_found.asks > 0 then ' ' || governance.counted('headline.orchestrator.asks', v_found.asks, p_locale) else '' end,
      'open_first', '/orchestrator/' || internal.prefixed('orc', v_found.first));
  end if;
  if p_page = 'orchestrator_run' then
    select r.run_id, r.run_name, r.document_id, r.state_code, r.state_machine_id, r.last_transition_at into v_found from orchestrator.run r where r.run_id = v_id;
    if not found then
      perform internal.refuse(internal.problem('RO001', jsonb_build_object('run_id', coalesce(v_id::text, left(p_subject, 200)))));
    end if;
    select w.label, w.message, w.tone into v_state from governance.state_words(v_found.state_machine_id, v_found.state_code, p_locale) w;
    select '/approvals/' || internal.prefixed('apr', a.approval_id) into v_path from approval.approval_request a
     where a.subject_kind = 'orchestrator_run' and a.subject_ref = v_found.run_name and a.expires_at > internal.now() and approval.state(a.approval_id) = 'pending'
       and identity.permits(p_reader, 'approval.read') order by a.requested_at desc limit 1;
    return governance.say(
      p_locale, v_state.tone,
      governance.words('headline.orchestrator_run', p_locale, jsonb_build_object('document', v_found.document_id, 'label', v_state.label,
        'age', governance.age_words(v_found.last_transition_at, p_locale))) || ' ' || v_state.message || '.',
      case when v_path is not null then 'see_approval' else 'see_document' end, coalesce(v_path, '/documents/' || v_found.document_id));
  end if;
  if p_page = 'documents' then
    select count(*) into v_n from iu.source_document d;
    return governance.say(p_locale, 'plain', governance.counted('headline.documents', v_n, p_locale), 'see_entries', case when identity.permits(p_reader, 'entry.read') then '/entries' end);
  end if;
  select d.document_id, d.address_docprefix, v.version_seq, v.created_at, v.created_by into v_found
    from iu.source_document d, lateral (select v.version_seq, v.created_at, v.created_by from iu.source_version v where v.document_id = d.document_id order by v.version_seq desc limit 1) v
   where d.document_id = p_subject;
  if not found then
    return null;
  end if;
  select count(*) into v_n from iu.information_unit u where u.doc_code = v_found.address_docprefix and u.deleted_at is null;
  if identity.permits(p_reader, 'entry.read') then
    select '/entries/' || internal.prefixed('ent', e.entry_id) into v_path from cutter_governance.decision_backlog_entry e
     where e.document_id = p_subject order by e.emitted_at desc limit 1;
  end if;
  return governance.say(
    p_locale, 'plain',
    governance.counted('headline.document', v_n, p_locale, jsonb_build_object('document', v_found.document_id, 'version', v_found.version_seq, 'by', v_found.created_by,
      'age', governance.age_words(v_found.created_at, p_locale))),
    'see_entry', v_path);
end
$$;
