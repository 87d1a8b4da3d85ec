-- owner: chancery_guard
-- promise: the decision names a manifest of this entry, and both were written in this transaction
create or replace function cutter_governance.guard_review_manifest(p_context jsonb) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from cutter_governance.review_decision d
      join cutter_governance.manifest_envelope m on m.envelope_id = d.manifest_id
     where d.review_decision_id = internal.uuid_or_null(p_context #>> '{evidence,review_decision_id}')
       and d.entry_id = (p_context #>> '{run,id}')::uuid and m.entry_id = d.entry_id
       and d.verdict = p_context #>> '{evidence,verdict}'
       and encode(m.manifest_digest, 'hex') = p_context #>> '{evidence,manifest_digest}'
       and d.xmin::text = (pg_current_xact_id_if_assigned()::xid)::text and m.xmin::text = d.xmin::text
       and exists (select from cutter_governance.manifest_unit_block b where b.envelope_id = m.envelope_id))
$$;
