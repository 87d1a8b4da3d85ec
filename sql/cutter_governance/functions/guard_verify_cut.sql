-- owner: chancery_guard
-- promise: the change set exists, and its executor signed exactly its content; a fail may be about just that, so it needs the
--          change set only
create or replace function cutter_governance.guard_verify_cut(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from cutter_governance.cut_change_set c
      left join cutter_governance.dot_pair_signature s on s.signature_id = c.executor_signature_id
     where c.change_set_id = internal.uuid_or_null(p_context #>> '{evidence,change_set_id}') and c.change_kind = 'apply'
       and c.decision_backlog_entry_id = (p_context #>> '{run,id}')::uuid
       and (p_context #>> '{evidence,verdict}' = 'fail'
            or s.cross_reference_change_set_id = c.change_set_id and s.signer_dot_id = 'DOT-991'
               and s.signature_payload::jsonb ->> 'change_set_digest' = encode(c.change_set_digest, 'hex')))
$$;
