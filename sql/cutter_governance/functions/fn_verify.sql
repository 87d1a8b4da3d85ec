-- promise: an independent verdict on the entry's change set stands, signed in its own lane. Pass completes the entry. Fail takes the
--          cut back, opens an escalation and freezes the entry. A repeated verdict under the same id is answered with the first;
--          a new one about an entry that is no longer waiting is chained to the one before and moves nothing.
-- callers: cutter_verify (verifier_dot992)
-- arrow: cut_applied → verified_complete | verify_failed_escalated (through verify_in_progress, which is never committed)
-- locks: the entry (update), the signer's chain (its turn), the units on a fail, then see fsm.move
-- refuses with: RC001, RC007, RC009, RC010, RC013 the tables contradict a pass, RC014 a fail without findings or a malformed verdict,
--               RC019 nothing to verify, RO010, RI001–RI008, RI051, RS…
create or replace function cutter_governance.fn_verify(
  p_entry_id uuid, p_verify_result_id uuid, p_change_set_id uuid, p_verdict text, p_findings jsonb, p_prior_verify_result_id uuid,
  p_tool_revision text, p_principal text, p_signature_id uuid, p_prior_signature_id uuid, p_key_id uuid, p_signed_at bigint,
  p_signature_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.cutter.v1+json', p_signature_payload, p_signature);
  perform orchestrator.require_free(p_entry_id, 'verify', null);
  return cutter_governance.verify(p_entry_id, p_verify_result_id, p_change_set_id, p_verdict, p_findings, p_prior_verify_result_id, p_tool_revision,
                                  p_principal, p_signature_id, p_prior_signature_id, p_key_id, p_signed_at, p_signature_payload, p_signature);
end
$$;
