-- promise: the head of the pages of the knowledge base, of machines, of the audit and of one's own keys.
-- callers: governance.fn_headline
-- refuses with: RI001, RI002, RI040, RS018
create or replace function governance.headline_books(p_reader text, p_page text, p_subject text, p_locale text) returns jsonb
language plpgsql stable
as $$
declare
  v_found record;
begin
  perform identity.require_permission(p_reader, case when p_page in ('kb', 'kb_document') then 'kb.read' when p_page in ('machines', 'machine') then 'machine.read'
                                                     when p_page = 'audit' then 'workflow.read' else 'self.read' end);
  if p_page = 'kb' then
    select count(distinct r.path) as documents, max(r.created_at) as newest into v_found from kb.revision r;
    return governance.say(p_locale, 'plain', governance.counted('headline.kb', v_found.documents, p_locale, jsonb_build_object('age', governance.age_words(v_found.newest, p_locale))));
  end if;
  if p_page = 'kb_document' then
    select r.path, r.revision, r.author, r.created_at,
           (select count(*) from kb.revision_signature s where s.path = r.path and s.revision = r.revision) as signatures into v_found
      from kb.revision r where r.path = p_subject order by r.revision desc limit 1;
    if not found then
      return null;
    end if;
    return governance.say(
      p_locale, case when v_found.signatures > 0 then 'good' else 'plain' end,
      governance.words('headline.kb_document', p_locale, jsonb_build_object('revision', v_found.revision, 'by', v_found.author, 'age', governance.age_words(v_found.created_at, p_locale)))
      || ' ' || governance.counted('headline.kb_document.signed', v_found.signatures, p_locale));
  end if;
  if p_page = 'machines' then
    select count(*) as machines, (select count(*) from fsm.state_def s join fsm.state_machine_def a using (state_machine_id) where a.active) as states,
           (select count(*) from fsm.transition_def t join fsm.state_machine_def a using (state_machine_id) where a.active) as transitions into v_found
      from fsm.state_machine_def m where m.active;
    return governance.say(p_locale, 'plain', governance.counted('headline.machines', v_found.machines, p_locale, jsonb_build_object(
      'states', governance.number_words(v_found.states, p_locale), 'transitions', governance.number_words(v_found.transitions, p_locale))));
  end if;
  if p_page = 'machine' then
    select m.state_machine_id, m.name, m.version, (select count(*) from fsm.state_def s where s.state_machine_id = m.state_machine_id) as states,
           (select count(*) from fsm.transition_def t where t.state_machine_id = m.state_machine_id) as transitions into v_found
      from fsm.state_machine_def m where m.name = p_subject and m.active limit 1;
    if not found then
      perform internal.refuse(internal.problem('RS018', jsonb_build_object('machine', left(p_subject, 200))));
    end if;
    return governance.say(p_locale, 'plain', governance.words('headline.machine', p_locale, jsonb_build_object(
      'name', v_found.name, 'version', v_found.version, 'states', v_found.states, 'transitions', v_found.transitions)), 'see_machines', '/machines');
  end if;
  if p_page = 'audit' then
    if not identity.permits(p_reader, 'audit.read') then
      return governance.say(p_locale, 'plain', governance.words('headline.audit.own', p_locale));
    end if;
    select max(l.at) as newest into v_found from fsm.transition_log l where l.at > internal.now() - interval '1 day';
    return governance.say(p_locale, 'plain', case when v_found.newest is null then governance.words('headline.audit.quiet', p_locale)
      else governance.words('headline.audit', p_locale, jsonb_build_object('age', governance.age_words(v_found.newest, p_locale))) end);
  end if;
  select count(*) as keys, (select count(*) from identity.key_request q where q.principal = p_reader and q.settled_at is null) as asked into v_found
    from identity.signing_key k where k.principal = p_reader and k.revoked_at is null;
  return governance.say(
    p_locale, case when v_found.keys > 0 then 'good' else 'warn' end,
    governance.counted('headline.keys', v_found.keys, p_locale)
    || case when v_found.asked > 0 then ' ' || governance.counted('headline.keys.asked', v_found.asked, p_locale) else '' end,
    case when v_found.keys = 0 and v_found.asked = 0 then 'make_key' end, '/keys#make');
end
$$;
