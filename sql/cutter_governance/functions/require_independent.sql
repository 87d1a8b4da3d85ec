-- promise: who verifies is not the executor of the cut and signs with a key of its own.
--          (G-VERIFY-SOD says the same of a verdict that moves the entry; this also holds for a verdict that moves nothing.)
-- refuses with: RC020
create or replace function cutter_governance.require_independent(p_change_set cutter_governance.cut_change_set, p_principal text, p_key_id uuid) returns void
language plpgsql stable
as $$
declare
  v_executor record;
begin
  select s.signer_principal, s.key_id into v_executor
    from cutter_governance.dot_pair_signature s where s.signature_id = p_change_set.executor_signature_id;
  if v_executor.signer_principal = p_principal or v_executor.key_id = p_key_id then
    perform internal.refuse(internal.problem('RC020', jsonb_build_object('executor', v_executor.signer_principal, 'verifier', p_principal)));
  end if;
end
$$;
