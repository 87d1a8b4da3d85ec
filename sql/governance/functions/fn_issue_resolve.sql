-- promise: a person has settled the finding, with a reason.
-- callers: chancery_app (pic_human, reviewer, sovereign, escalation_handler), signed where a person's move is
-- arrow: open | acknowledged → resolved
-- locks: see fsm.move
-- refuses with: RE020 no such finding, RI001–RI008, RS…
create or replace function governance.fn_issue_resolve(
  p_issue_id uuid, p_reason text, p_principal text, p_actor_class text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_report jsonb;
begin
  perform fsm.require_fresh_reads();
  if not exists (select from governance.system_issues i where i.issue_id = p_issue_id) then
    perform internal.refuse(internal.problem('RE020', jsonb_build_object('issue_id', p_issue_id)));
  end if;
  v_report := fsm.move(
    p_issue_id, 'finding', null, 'resolved', p_actor_class, 'rpc', 'issue_resolve', jsonb_build_object('reason', p_reason), p_principal,
    p_idempotency_key, p_reason, null, p_key_id, p_signature);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return governance.report(p_issue_id) || jsonb_build_object('replayed', v_report -> 'replayed');
end
$$;
