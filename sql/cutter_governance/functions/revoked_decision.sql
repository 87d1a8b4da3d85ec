-- owner: chancery_guard
-- promise: what keeps a decision from allowing anything because the key that signed it was revoked before the decision was used, as a problem that names
--          it; null when nothing does. The decision by which a run of the orchestrator was authorized is used with that authorization.
-- callers: cutter_governance.guard_cut_approved, cutter_governance.require_allowed, iu.fn_iu_enact
create or replace function cutter_governance.revoked_decision(p_review_decision_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select internal.problem('RA030', jsonb_build_object(
           'what', 'review_decision', 'id', d.review_decision_id, 'signer', d.reviewer_identity, 'key_id', d.key_id, 'revoked_at', internal.micros(k.revoked_at)))
    from cutter_governance.review_decision d join identity.signing_key k on k.key_id = d.key_id and k.revoked_at is not null
   where d.review_decision_id = p_review_decision_id
     and not exists (
       select from orchestrator.run r
         cross join (values ('cut_decision', '/SG_cut_authz'), ('lifecycle_decision', '/SG_lifecycle_authz')) g (decision, gate)
         join approval.approval_use u on u.used_for_kind = 'orchestrator_run' and u.used_for_ref = r.run_name || g.gate
        where r.entry_id = d.entry_id and d.review_decision_id = internal.derived_uuid(r.run_id, g.decision))
$$;
