-- owner: chancery_owner
-- promise: a family whose table is ours is under its triggers.
-- callers: the release
-- Dynamic SQL here runs what birth.arming made, with %I and %s of a regclass only.
create or replace function birth.arm(p_collection text) returns void
language plpgsql
as $$
declare
  v_statement text;
begin
  foreach v_statement in array birth.arming(p_collection) loop
    execute format('%s', v_statement);
  end loop;
end
$$;
