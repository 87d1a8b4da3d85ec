-- promise: the request to replay is taken back, with a reason, and the dead letter is free for another one.
-- callers: chancery_app (pic_human, reviewer, sovereign, escalation_handler)
-- arrow: submitted → withdrawn
-- refuses with: RS001 no such request, RI001–RI008, RS…
create or replace function queue.fn_dlq_replay_withdraw(
  p_request_id uuid, p_reason text, p_actor_class text, p_principal text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_report jsonb;
begin
  v_report := fsm.move(p_request_id, 'dlq_replay', null, 'withdrawn', p_actor_class, 'rpc', 'dlq_replay_withdraw', jsonb_build_object('reason', p_reason),
                       p_principal, p_idempotency_key, p_reason, null, p_key_id, p_signature);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return v_report;
end
$$;
