-- The roles of the product. Run by an administrator, repeatable, outside the release transaction:
-- roles belong to the whole cluster, so two databases that migrate at once would race here.
-- Owners cannot log in; no login owns anything, is superuser, or may create roles (RELIABILITY §2.3).
do $roles$
declare
  v_role text;
begin
  -- serialised by the caller, which holds an advisory lock in the database "postgres"
  foreach v_role in array array['chancery_owner', 'chancery_definer', 'chancery_guard'] loop
    if not exists (select from pg_roles where rolname = v_role) then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;
  foreach v_role in array array['chancery_app', 'chancery_migrator', 'chancery_backup', 'auditor_ro',
                                'cutter_exec', 'cutter_verify', 'cutter_review', 'cutter_ro', 'birth_writer'] loop
    if not exists (select from pg_roles where rolname = v_role) then
      execute format('create role %I login', v_role);
    end if;
    -- A forgotten transaction holds locks and the vacuum horizon; a hung statement holds a person.
    execute format('alter role %I set idle_in_transaction_session_timeout = %L', v_role, '60s');
    execute format('alter role %I set lock_timeout = %L', v_role, '10s');
    execute format('alter role %I set search_path = %L', v_role, '');
    -- Compiling a plan takes half a second, and what has it compiled is an estimate: on young statistics, a page of fifty events.
    execute format('alter role %I set jit = %L', v_role, 'off');
  end loop;
  foreach v_role in array array['chancery_app', 'cutter_ro', 'birth_writer'] loop
    execute format('alter role %I set statement_timeout = %L', v_role, '60s');
  end loop;
  -- Its statements are short: starting helpers for one takes longer than most of them.
  alter role chancery_app set max_parallel_workers_per_gather = 0;
  -- A phase about twenty thousand units is one statement. What is too long for a run, its caps say.
  foreach v_role in array array['cutter_exec', 'cutter_verify', 'cutter_review'] loop
    execute format('alter role %I set statement_timeout = %L', v_role, '15min');
  end loop;
  -- Taken away only where somebody gave it: on a hosted server the administrator is no superuser and may not even say so.
  for v_role in
    select r.rolname from pg_roles r
     where r.rolname in ('chancery_owner', 'chancery_definer', 'chancery_guard', 'chancery_app', 'chancery_migrator', 'chancery_backup',
                         'auditor_ro', 'cutter_exec', 'cutter_verify', 'cutter_review', 'cutter_ro', 'birth_writer')
       and (r.rolsuper or r.rolcreatedb or r.rolcreaterole or r.rolreplication or r.rolbypassrls)
  loop
    execute format('alter role %I nosuperuser nocreatedb nocreaterole noreplication nobypassrls', v_role);
  end loop;
  for v_role in
    select r.rolname from pg_roles r where r.rolname in ('chancery_owner', 'chancery_definer', 'chancery_guard') and r.rolcanlogin
  loop
    execute format('alter role %I nologin', v_role);
  end loop;
  if not (select r.rolsuper from pg_roles r where r.rolname = current_user) then
    execute format('grant chancery_owner, chancery_definer, chancery_guard to %I', current_user);
  end if;
end
$roles$;

-- The migrator may become the owners; nobody else may. It inherits nothing from them: by hand it has its doors and no table.
alter role chancery_migrator noinherit;
grant chancery_owner, chancery_definer, chancery_guard to chancery_migrator;
