-- Before a release is applied: our views go, all at once, so that they may depend on each other. A view of somebody else's on
-- top of one of them stops the release instead of vanishing with it. One among them is not ours to drop: the fingerprints name it.
do $views$
declare
  v_views text;
begin
  select string_agg(c.oid::regclass::text, ', ') into v_views
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspowner = 'chancery_owner'::regrole and c.relkind = 'v' and c.relowner = 'chancery_definer'::regrole;
  if v_views is not null then
    execute format('drop view %s', v_views);
  end if;
end
$views$;
