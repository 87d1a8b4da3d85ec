-- promise: how far somebody has come with a task or step stands on record. The same key gives it again.
-- callers: chancery_app (pic_human, task_pic_human, executor_worker)
-- locks: the run of the workflow
-- refuses with: RW001, RW006, RW027 the label or the facts, RI001–RI004, RS012
create or replace function workflow.fn_task_checkpoint(
  p_run_kind text, p_run_id uuid, p_label text, p_facts jsonb, p_principal text, p_actor_class text, p_idempotency_key text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work;
  v_known workflow.task_checkpoints;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  v_work := workflow.take(p_run_kind, p_run_id);
  if internal.is_blank(p_label) or length(p_label) > 200 or jsonb_typeof(p_facts) is distinct from 'object' or octet_length(p_facts::text) > 16384
     or internal.is_blank(p_idempotency_key) or length(p_idempotency_key) > 200 then
    perform internal.refuse(internal.problem('RW027', jsonb_build_object('run_id', p_run_id,
      'expected', 'a label of at most 200 letters, facts as an object of at most 16384 bytes, and a key')));
  end if;
  select c.* into v_known from workflow.task_checkpoints c where c.run_id = p_run_id and c.idempotency_key = p_idempotency_key;
  if found and (v_known.label, v_known.facts, v_known.principal) is distinct from (p_label, p_facts, p_principal) then
    perform internal.refuse(internal.problem('RS012', jsonb_build_object(
      'idempotency_key', p_idempotency_key, 'used_for_seq', null, 'differs_in', jsonb_build_array('checkpoint'))));
  elsif not found then
    perform workflow.require_live_run(v_work);
    insert into workflow.task_checkpoints (run_id, checkpoint_no, run_kind, cycle_no, label, facts, principal, idempotency_key, reached_at)
    select p_run_id, coalesce(max(c.checkpoint_no), 0) + 1, p_run_kind, v_work.cycle_no, p_label, p_facts, p_principal, p_idempotency_key, internal.now()
      from workflow.task_checkpoints c where c.run_id = p_run_id
    returning * into v_known;
    return jsonb_build_object('run_id', p_run_id, 'no', v_known.checkpoint_no, 'replayed', false);
  end if;
  return jsonb_build_object('run_id', p_run_id, 'no', v_known.checkpoint_no, 'replayed', true);
end
$$;
