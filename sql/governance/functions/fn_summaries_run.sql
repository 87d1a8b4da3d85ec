-- promise: every category and every executor class of which something new is to be said has a summary that says it; where nothing happened
--          nothing is written. A summary that turned green without the event of an end is a finding (the sentinel).
-- callers: chancery_app (system), each tick of the loop
-- locks: one at a time (its turn); then for each category its finding, and after it the subject (its turn). See docs/states/locking.md
-- refuses with: RS018 no machine for findings, RI001–RI004
create or replace function governance.fn_summaries_run(p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_category text;
  v_class record;
  v_written integer := 0;
  v_found integer;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  perform internal.take_turn('governance.fn_summaries_run');
  v_found := governance.check_summaries(p_principal);
  foreach v_category in array governance.categories() loop
    v_written := v_written + governance.summarize_category(v_category, p_principal)::integer;
  end loop;
  for v_class in select c.executor_class from queue.executor_class_registry c order by c.executor_class loop
    v_written := v_written + governance.summarize_executor(v_class.executor_class, p_principal)::integer;
  end loop;
  return jsonb_build_object('written', v_written, 'found', v_found);
end
$$;
