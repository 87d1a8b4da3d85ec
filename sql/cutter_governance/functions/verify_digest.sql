-- promise: the digest that a verifier signs: which change set, which verdict, what was found, and what follows from it.
create or replace function cutter_governance.verify_digest(
  p_verify_result_id uuid, p_change_set_id uuid, p_change_set_digest bytea, p_executor_signature_id uuid, p_verdict text, p_findings jsonb,
  p_prior_verify_result_id uuid, p_rollback_change_set_id uuid, p_escalation_ref uuid
) returns bytea
language sql immutable
as $$
  select sha256(convert_to(internal.canonical_json(jsonb_build_object(
    'verify_result_id', p_verify_result_id, 'change_set_id', p_change_set_id, 'change_set_digest', encode(p_change_set_digest, 'hex'),
    'executor_signature_id', p_executor_signature_id, 'verdict', p_verdict, 'findings', p_findings, 'prior_verify_result_id', p_prior_verify_result_id,
    'rollback_change_set_id', p_rollback_change_set_id, 'escalation_ref', p_escalation_ref, 'v', 1)), 'UTF8'))
$$;
