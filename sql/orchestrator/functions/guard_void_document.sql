-- owner: chancery_guard
-- promise: a document that the sovereign signed, with a key that is not revoked, voids exactly this run
create or replace function orchestrator.guard_void_document(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select orchestrator.signed_by_sovereign(p_context #>> '{evidence,void_kb_id}', 'void', p_by_live_key => true)
         and exists (
           select from orchestrator.run r
            where r.run_id = (p_context #>> '{run,id}')::uuid
              and orchestrator.json_block((select k.body from kb.revision k where k.path = p_context #>> '{evidence,void_kb_id}'
                                            order by k.revision desc limit 1)) @> jsonb_build_object('run_id', r.run_name, 'voids', true))
$$;
