-- promise: every family has its trigger function birth.family_N, with the text of birth.family_source. Called once a release, and when a
--          family is declared, so that no dynamic SQL runs when something is born. `execute format` here makes functions, with %I and %L only.
-- callers: the migrator, birth.family_put
create or replace function birth.generate_families() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $generator$
declare
  v_family record;
begin
  for v_family in
    select f.collection_name, f.family_no, pg_get_userbyid(c.relowner) as table_owner from birth.family f join pg_class c on c.oid = f.relation
  loop
    -- The body is a literal of the statement, not a part of it: a name with a dollar quote in it would otherwise end the body.
    execute format('create or replace function birth.%I() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as %L',
                   'family_' || v_family.family_no, birth.family_source(v_family.collection_name));
    execute format('grant usage on schema birth to %I', v_family.table_owner);
    execute format('grant execute on function birth.%I() to %I', 'family_' || v_family.family_no, v_family.table_owner);
  end loop;
end
$generator$;
