-- owner: chancery_guard
-- promise: the verifier is not the executor and signs with a key of its own
create or replace function cutter_governance.guard_verify_sod(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from cutter_governance.cut_change_set c
      join cutter_governance.dot_pair_signature s on s.signature_id = c.executor_signature_id
     where c.change_set_id = internal.uuid_or_null(p_context #>> '{evidence,change_set_id}')
       and s.signer_principal <> p_context #>> '{actor,principal}'
       and s.key_id::text is distinct from p_context #>> '{evidence,key_id}')
$$;
