-- owner: chancery_guard
-- promise: true when the reason to block is one of the vocabulary
create or replace function workflow.guard_block_reason(p_context jsonb) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_work workflow.work := workflow.peek(p_context #>> '{run,kind}', (p_context #>> '{run,id}')::uuid);
begin
  return exists (select from config.dot_config c where c.key = 'vocab.block_reason.' || v_work.block_reason);
end
$$;
