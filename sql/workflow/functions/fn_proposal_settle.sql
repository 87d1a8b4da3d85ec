-- promise: a proposal is where the votes about it say. Anybody may ask for it: nothing is decided here.
-- callers: chancery_app
-- refuses with: RW001
create or replace function workflow.fn_proposal_settle(p_run_kind text, p_run_id uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform fsm.require_fresh_reads();
  if p_run_kind not in ('workflow_change', 'proposal') or (fsm.run_peek(p_run_kind, p_run_id)).seq is null then
    perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', p_run_kind, 'id', p_run_id)));
  end if;
  perform workflow.settle_review(p_run_kind, p_run_id);
  return workflow.proposal_report(p_run_kind, p_run_id);
end
$$;
