-- owner: chancery_guard
-- promise: true when the reason to block is one of the vocabulary, and is the one that this very move brings: that of an earlier block answers
--          for nothing
create or replace function workflow.guard_block_reason(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return v_work.block_reason = p_context #>> '{evidence,block_reason}'
     and exists (select from config.dot_config c where c.key = 'vocab.block_reason.' || v_work.block_reason);
end
$$;
