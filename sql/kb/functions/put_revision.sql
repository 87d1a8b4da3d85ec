-- promise: see fn_kb_put; whoever calls has asked whether the path is the caller's to write.
-- callers: kb.fn_kb_put, orchestrator.put_document, orchestrator.fn_closeout
-- locks: the path (its turn)
-- refuses with: RA020, RA021, RI001–RI004, RS025
create or replace function kb.put_revision(
  p_path text, p_kind text, p_body text, p_expected_revision integer, p_principal text, p_actor_class text
) returns jsonb
language plpgsql
as $$
declare
  v_max constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'kb.body.max_bytes');
  v_head kb.revision;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  if p_path is null or p_path !~ '^[a-z0-9][a-z0-9._-]{0,199}(/[a-z0-9][a-z0-9._-]{0,199})*$' or length(p_path) > 400
     or p_path ~ '[.]md/|(^|/)[0-9]+[.](md|json)(/|$)' or p_kind is null
     or p_kind !~ '^[a-z][a-z0-9_]*$' or coalesce(p_body, '') = '' or octet_length(p_body) > v_max then
    perform internal.refuse(internal.problem('RA020', jsonb_build_object(
      'path', p_path, 'kind', p_kind, 'bytes', octet_length(p_body), 'max_bytes', v_max)));
  end if;
  perform fsm.require_fresh_reads();
  perform internal.take_turn('kb.path:' || p_path);
  select r.* into v_head from kb.revision r where r.path = p_path order by r.revision desc limit 1;
  if v_head.body = p_body and v_head.kind = p_kind then
    return kb.revision_report(v_head, true);
  end if;
  if p_expected_revision is not null and p_expected_revision <> coalesce(v_head.revision, 0) then
    perform internal.refuse(internal.problem('RA021', jsonb_build_object(
      'path', p_path, 'expected', p_expected_revision, 'newest', coalesce(v_head.revision, 0))));
  end if;
  insert into kb.revision (path, revision, kind, body, sha256, author, created_at)
  values (p_path, coalesce(v_head.revision, 0) + 1, p_kind, p_body, sha256(convert_to(p_body, 'UTF8')), p_principal, internal.now())
  returning * into v_head;
  return kb.revision_report(v_head, false);
end
$$;
