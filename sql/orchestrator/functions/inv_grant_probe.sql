-- owner: chancery_guard
-- promise: IG_grant_probe: each duty has its doors, nobody has a way past them, and nothing is open to everyone.
create or replace function orchestrator.inv_grant_probe(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'executor_may_write_units', not exists (
      select from unnest(array['fn_iu_create', 'fn_iu_apply_edit_draft', 'fn_iu_enact']) w (name)
       where not exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                          where n.nspname = 'iu' and p.proname = w.name and has_function_privilege('cutter_exec', p.oid, 'execute'))),
    -- Its own verdict and the run's move past it: without the second the run would stand still after it wrote.
    'verifier_may_record', has_table_privilege('cutter_verify', 'cutter_governance.v_verify_result', 'select') and not exists (
      select from (values ('cutter_governance', 'fn_verify'), ('orchestrator', 'fn_write_verify')) w (room, name)
       where not exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                          where n.nspname = w.room and p.proname = w.name and has_function_privilege('cutter_verify', p.oid, 'execute'))),
    'reader_may_see_decisions', has_table_privilege('chancery_app', 'cutter_governance.v_review_decision', 'select'),
    'nothing_open_to_public', not exists (
      select from pg_proc p join pg_namespace n on n.oid = p.pronamespace, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
       where n.nspname in ('cutter_governance', 'iu', 'orchestrator') and a.grantee = 0 and a.privilege_type = 'EXECUTE'),
    -- Whatever the way: by name, by everyone's rights, by a column's or by another role's.
    'no_direct_table_rights', not exists (
      select from pg_class c join pg_namespace n on n.oid = c.relnamespace, unnest(array['cutter_exec', 'cutter_verify', 'cutter_review', 'chancery_app']) l (login)
       where n.nspname in ('cutter_governance', 'iu', 'orchestrator') and c.relkind in ('r', 'p')
         and (has_table_privilege(l.login, c.oid, 'insert, update, delete, truncate') or has_any_column_privilege(l.login, c.oid, 'insert, update'))))
$$;
