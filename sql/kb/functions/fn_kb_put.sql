-- promise: the text is the newest revision of its path. The text that is there already stays that revision: nothing is written. What stands
--          below orchestrator/ is written by the run that it is about.
-- callers: chancery_app, cutter_exec, cutter_verify, cutter_review
-- locks: the path (its turn)
-- refuses with: RA020 the path, kind or text, RA021 somebody wrote meanwhile, RO012 the path is a run's, RI001–RI004, RS025
create or replace function kb.fn_kb_put(
  p_path text, p_kind text, p_body text, p_expected_revision integer, p_principal text, p_actor_class text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform identity.require_actor(p_principal, p_actor_class);
  perform orchestrator.require_writable_path(p_path, p_kind, p_principal, p_actor_class);
  return kb.put_revision(p_path, p_kind, p_body, p_expected_revision, p_principal, p_actor_class);
end
$$;
