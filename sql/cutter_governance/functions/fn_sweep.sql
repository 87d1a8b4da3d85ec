-- promise: one pass over the backlog: what is marked or deferred, oldest first and at most p_limit, is put before the review
--          authority, and one row says so, also when nothing was found. The same sweep id gives the first pass again.
-- callers: cutter_exec (executor_dot991), chancery_app (system)
-- arrow: marked → review_pending, reviewed_deferred → review_pending
-- locks: the sweep's turn (its turn, so that the passes form one chain), then the entries it promotes, skipping locked ones
-- refuses with: RC016 a malformed request, RS025, and whatever a move refuses
create or replace function cutter_governance.fn_sweep(
  p_sweep_id uuid, p_actor_class text, p_principal text, p_sweep_trigger_kind text default 'manual', p_limit integer default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  return cutter_governance.sweep(p_sweep_id, p_actor_class, p_principal, p_sweep_trigger_kind, p_limit, null);
end
$$;
