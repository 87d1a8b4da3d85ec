-- owner: chancery_guard
-- promise: IG_write_verify: one verdict on the change set, by a verifier of its own, that passes, with its signature.
create or replace function orchestrator.inv_write_verify(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'verifier_is_not_the_executor', exists (
      select from cutter_governance.verify_result v
        join identity.principal p on p.name = v.verified_by and 'verifier_dot992' = any (p.actor_classes)
        join cutter_governance.dot_pair_signature e on e.signature_id = v.executor_signature_id and e.signer_principal <> v.verified_by
       where v.change_set_id = ids.change_set_id),
    'result_passes_and_is_signed', exists (
      select from cutter_governance.verify_result v
        join cutter_governance.dot_pair_signature s on s.signature_id = v.verifier_signature_id and s.signer_dot_id = 'DOT-992'
             and s.cross_reference_verify_result_id = v.verify_result_id
       where v.change_set_id = ids.change_set_id and v.verdict = 'pass'),
    'only_one_result', (select count(*) from cutter_governance.verify_result v where v.change_set_id = ids.change_set_id) = 1)
    from (select internal.derived_uuid(p_run.run_id, 'change_set') as change_set_id) ids
$$;
