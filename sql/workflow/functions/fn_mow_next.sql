-- promise: runs in which something waits for the loop, the longest waiting first. Found by an index, whatever number of runs there is.
-- callers: chancery_app (mow_orchestrator)
create or replace function workflow.fn_mow_next(p_limit integer, p_principal text) returns uuid[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  -- Read once: a condition on a volatile function is not looked up in an index, it is asked of every row.
  v_now constant timestamptz := internal.now();
begin
  perform identity.require_actor(p_principal, 'mow_orchestrator');
  return (select coalesce(array_agg(r.workflow_run_id order by r.first), '{}')
            from (select a.workflow_run_id, min(a.place) as first
                    from (select a.workflow_run_id, row_number() over (order by a.not_before, a.agenda_no) as place
                            from workflow.agenda a where a.not_before <= v_now
                           order by a.not_before, a.agenda_no limit greatest(least(p_limit, 1000), 1)) a
                   group by a.workflow_run_id) r);
end
$$;
