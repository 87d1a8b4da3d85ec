-- After a release was applied: every function of ours was written by this transaction. What was not is left over from an older
-- release, a door that nobody guards any more. What a stranger owns is not ours to drop: the fingerprints name it.
do $stale$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure::text as signature, p.proowner::regrole::text as owner
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspowner = 'chancery_owner'::regrole and p.proowner::regrole::text in ('chancery_owner', 'chancery_definer', 'chancery_guard')
       and p.xmin::text <> (pg_current_xact_id()::xid)::text
  loop
    execute format('set local role %I', v_function.owner);
    execute format('drop function %s', v_function.signature);
  end loop;
end
$stale$;
