-- promise: what somebody says about a task or step stands beside it, also after it ended. The same key gives it again.
-- callers: chancery_app
-- locks: the run of the workflow
-- refuses with: RW001, RW027 the text, RI001–RI004, RS012
create or replace function workflow.fn_task_comment(
  p_run_kind text, p_run_id uuid, p_body text, p_principal text, p_actor_class text, p_idempotency_key text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work;
  v_known workflow.task_comments;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  v_work := workflow.take(p_run_kind, p_run_id);
  if internal.is_blank(p_body) or octet_length(p_body) > 16384 or internal.is_blank(p_idempotency_key) or length(p_idempotency_key) > 200 then
    perform internal.refuse(internal.problem('RW027', jsonb_build_object('run_id', p_run_id, 'expected', 'a text of at most 16384 bytes, and a key')));
  end if;
  select c.* into v_known from workflow.task_comments c where c.run_id = p_run_id and c.idempotency_key = p_idempotency_key;
  if found and (v_known.body, v_known.principal) is distinct from (p_body, p_principal) then
    perform internal.refuse(internal.problem('RS012', jsonb_build_object(
      'idempotency_key', p_idempotency_key, 'used_for_seq', null, 'differs_in', jsonb_build_array('comment'))));
  elsif not found then
    insert into workflow.task_comments (run_id, comment_no, run_kind, principal, body, idempotency_key, written_at)
    select v_work.run_id, coalesce(max(c.comment_no), 0) + 1, p_run_kind, p_principal, p_body, p_idempotency_key, internal.now()
      from workflow.task_comments c where c.run_id = p_run_id
    returning * into v_known;
    return jsonb_build_object('run_id', p_run_id, 'no', v_known.comment_no, 'replayed', false);
  end if;
  return jsonb_build_object('run_id', p_run_id, 'no', v_known.comment_no, 'replayed', true);
end
$$;
