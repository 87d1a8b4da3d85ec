-- promise: a row that was made, changed or deleted in a rule table stands in audit.rule_change, with who did it and through what: a
--          function of ours, a release, or a statement by hand. A row that was written as it was before is no change.
-- callers: the triggers of audit/triggers.sql, on every table of audit.rule_table
-- Times are written as UTC whatever the session says, so that the digest of a row is one.
create or replace function audit.note_rule() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO'
as $$
declare
  v_table text := tg_table_schema || '.' || tg_table_name;
  v_old jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
  v_new jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
  v_key text[] := tg_argv[0]::text[];
  v_context text;
  v_via text;
  v_columns text[];
begin
  if v_old = v_new then
    return null;
  end if;
  get diagnostics v_context = pg_context;
  -- The call stack, innermost first: this function, then whoever ran the statement. Names of ours are written with their schema.
  select m.name[1] into v_via
    from regexp_matches(v_context, E'\\m((?:config|identity|fsm|event|queue|approval|kb|iu|cutter_governance|birth|orchestrator|workflow|governance|internal|audit)\\.[a-z_0-9]+)\\(', 'g')
         with ordinality m (name, place)
   where m.name[1] <> 'audit.note_rule'
   order by m.place desc limit 1;
  v_via := coalesce(v_via, case when current_setting('chancery.release', true) = 'applying' then 'release' else 'hand' end);
  if v_old is not null and (v_new is null or audit.rule_key(v_old, v_key) <> audit.rule_key(v_new, v_key)) then
    insert into audit.rule_change (at, login_role, via, table_name, row_key, columns)
    values (internal.now(), session_user, v_via, v_table, audit.rule_key(v_old, v_key), audit.rule_columns(v_old));
  end if;
  if v_new is not null then
    v_columns := audit.rule_columns(v_new);
    insert into audit.rule_change (at, login_role, via, table_name, row_key, columns, row_value, value_digest)
    values (internal.now(), session_user, v_via, v_table, audit.rule_key(v_new, v_key), v_columns, v_new, audit.rule_digest(v_new, v_columns));
  end if;
  return null;
end
$$;
