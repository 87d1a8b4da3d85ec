-- promise: what a change set made is taken back, forward: its draft units are retired, and a change set of its own says so. Gives
--          the digests of the rows it wrote.
-- locks: the units (update), in the order they were made
create or replace function cutter_governance.compensate(
  p_change_set cutter_governance.cut_change_set, p_new_change_set_id uuid, p_principal text, p_reason text, p_tool_revision text
) returns bytea[]
language plpgsql
as $$
declare
  v_digests bytea[];
  v_count integer;
  v_effect_digest bytea;
begin
  with made as (
    -- Not the ledger alone: what it lost is taken back as well, and what it was made to name but the set never made is not.
    select u.unit_id, min(u.render_order) as render_order
      from (select internal.derived_uuid(p_change_set.change_set_id, 'unit,' || b.unit_local_id) as unit_id, b.render_order
              from cutter_governance.manifest_unit_block b where b.envelope_id = p_change_set.manifest_id
            union all
            select r.target_row_id, r.render_order
              from cutter_governance.cut_change_set_affected_row r
              join iu.iu_lifecycle_log l on l.unit_id = r.target_row_id and l.seq = 1 and l.change_set_id = p_change_set.change_set_id
             where r.change_set_id = p_change_set.change_set_id) u
     group by u.unit_id),
  retired as materialized (
    select row_number() over (order by m.render_order, m.unit_id) as render_order, m.unit_id as target_row_id, m.before_snapshot,
           iu.retire_unit(m.unit_id, p_principal, p_new_change_set_id, p_reason, p_tool_revision) as lifecycle_digest
      from (select made.*, (select r.after_state_snapshot from cutter_governance.cut_change_set_affected_row r
                             where r.change_set_id = p_change_set.change_set_id and r.target_row_id = made.unit_id limit 1) as before_snapshot
              from made) m),
  touched as (
    insert into cutter_governance.cut_change_set_affected_row (
      affected_row_id, change_set_id, render_order, target_table, target_row_id, operation_kind, before_state_snapshot, after_state_snapshot, lifecycle_digest)
    select internal.derived_uuid(p_new_change_set_id, 'row,' || r.target_row_id), p_new_change_set_id, r.render_order, 'iu.information_unit', r.target_row_id,
           'retire', r.before_snapshot, concat('{"lifecycle_status":"retired","unit_id":"', r.target_row_id, '"}'), r.lifecycle_digest
      from retired r where r.lifecycle_digest is not null
    returning row_digest)
  select array_agg(t.row_digest), count(*) into v_digests, v_count from touched t;
  v_effect_digest := cutter_governance.effect_digest(p_new_change_set_id);
  insert into cutter_governance.cut_change_set (
    change_set_id, change_kind, decision_backlog_entry_id, manifest_id, manifest_version, review_decision_id, rollback_key, rollback_of_change_set_id,
    rollback_reason, state, affected_unit_count, writer_digest, effect_digest, change_set_digest, payload_summary, executor_tool_revision,
    verifier_tool_revision, emitted_by, emitted_at)
  select p_new_change_set_id, 'compensate', p_change_set.decision_backlog_entry_id, p_change_set.manifest_id, p_change_set.manifest_version,
         p_change_set.review_decision_id, concat('rbk:compensate:', p_change_set.change_set_id), p_change_set.change_set_id, p_reason, 'committed',
         coalesce(v_count, 0), p_change_set.writer_digest, v_effect_digest,
         cutter_governance.change_set_digest(p_new_change_set_id, p_change_set.decision_backlog_entry_id, p_change_set.review_decision_id,
                                             m.manifest_digest, p_change_set.writer_digest, v_effect_digest, coalesce(v_count, 0)),
         internal.canonical_json(jsonb_build_object('rollback_of', p_change_set.change_set_id)), p_change_set.executor_tool_revision, p_tool_revision,
         p_principal, internal.now()
    from cutter_governance.manifest_envelope m where m.envelope_id = p_change_set.manifest_id
  returning coalesce(v_digests, '{}') || row_digest into v_digests;
  return v_digests;
end
$$;
