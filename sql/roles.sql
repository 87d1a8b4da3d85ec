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
  -- Those who only look, or write now and then, keep no connection that they do not use: their number is limited.
  foreach v_role in array array['auditor_ro', 'cutter_ro', 'birth_writer'] loop
    execute format('alter role %I set idle_session_timeout = %L', v_role, '30min');
  end loop;
  foreach v_role in array array['chancery_app', 'cutter_ro', 'birth_writer'] loop
    execute format('alter role %I set statement_timeout = %L', v_role, '60s');
  end loop;
  -- No login takes all connections of a server: one that was taken over, or runs wild, leaves some to the others. A limit that
  -- somebody set is theirs.
  for v_role in
    select r.rolname from pg_roles r
     where r.rolconnlimit = -1 and r.rolname in ('chancery_app', 'chancery_backup', 'auditor_ro', 'cutter_exec', 'cutter_verify', 'cutter_review', 'cutter_ro', 'birth_writer')
  loop
    execute format('alter role %I connection limit %s', v_role,
                   greatest(4, current_setting('max_connections')::integer * case when v_role = 'chancery_app' then 70 else 30 end / 100));
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

-- Who may become whom is said here and nowhere else: what somebody gave by hand is taken back. Who makes roles installs the product.
do $memberships$
declare
  v_ours constant text[] := array['chancery_owner', 'chancery_definer', 'chancery_guard', 'chancery_app', 'chancery_migrator', 'chancery_backup',
                                  'auditor_ro', 'cutter_exec', 'cutter_verify', 'cutter_review', 'cutter_ro', 'birth_writer'];
  v_member record;
begin
  for v_member in
    select g.rolname as role, m.rolname as member, b.rolname as grantor
      from pg_auth_members x join pg_roles g on g.oid = x.roleid join pg_roles m on m.oid = x.member left join pg_roles b on b.oid = x.grantor
     where (g.rolname = any (v_ours) or m.rolname = any (v_ours))
       and not (g.rolname in ('chancery_owner', 'chancery_definer', 'chancery_guard') and m.rolname = 'chancery_migrator' and not x.admin_option)
       and not (g.rolname = 'pg_read_all_data' and m.rolname = 'chancery_backup')
       and not (m.rolname <> all (v_ours) and (m.rolsuper or m.rolcreaterole))
  loop
    begin
      -- From PostgreSQL 16 on, a membership belongs to whoever gave it.
      execute format('revoke %I from %I', v_member.role, v_member.member)
           || case when current_setting('server_version_num')::integer >= 160000 then format(' granted by %I', v_member.grantor) else '' end;
    exception when insufficient_privilege then
      raise warning '% is a member of %, and this login may not change that', v_member.member, v_member.role;
    end;
  end loop;
end
$memberships$;

-- The migrator may become the owners; nobody else may. It inherits nothing from them: by hand it has its doors and no table.
alter role chancery_migrator noinherit;
grant chancery_owner, chancery_definer, chancery_guard to chancery_migrator;
