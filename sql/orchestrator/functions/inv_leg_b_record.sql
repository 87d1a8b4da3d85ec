-- owner: chancery_guard
-- promise: IG_leg_b_record: the change set is the only one, its ledger names every unit once, it is signed by its executor, and no lane
--          touches the other.
create or replace function orchestrator.inv_leg_b_record(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'change_set_is_unique', (select count(*) = 1 and bool_and(c.change_set_id = ids.change_set_id) from cutter_governance.cut_change_set c
                              where c.decision_backlog_entry_id = p_run.entry_id and c.change_kind = 'apply'),
    'manifest_and_signature_are_there', exists (
      select from cutter_governance.cut_change_set c
        join cutter_governance.manifest_envelope m on m.envelope_id = c.manifest_id and m.envelope_id = internal.derived_uuid(p_run.run_id, 'manifest')
        join cutter_governance.dot_pair_signature s on s.signature_id = c.executor_signature_id and s.cross_reference_change_set_id = c.change_set_id
       where c.change_set_id = ids.change_set_id),
    'ledger_is_exact', (select count(*) = (p_pins ->> 'candidate_count')::integer and count(distinct a.target_row_id) = count(*)
                               and bool_and(a.target_row_id in (select s.unit_id from orchestrator.units(p_run.run_id) s))
                          from cutter_governance.cut_change_set_affected_row a where a.change_set_id = ids.change_set_id),
    'lanes_do_not_overlap', not exists (
      select from cutter_governance.dot_pair_signature s
        join identity.principal p on p.name = s.signer_principal
       where s.cross_reference_change_set_id = ids.change_set_id and (s.signer_dot_id <> 'DOT-991' or 'verifier_dot992' = any (p.actor_classes))))
    from (select internal.derived_uuid(p_run.run_id, 'change_set') as change_set_id) ids
$$;
