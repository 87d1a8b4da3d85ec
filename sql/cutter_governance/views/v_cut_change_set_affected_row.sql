create or replace view cutter_governance.v_cut_change_set_affected_row with (security_barrier) as
select t.affected_row_id, t.change_set_id, t.render_order, t.target_table, t.target_row_id, t.operation_kind,
       t.before_state_snapshot, t.after_state_snapshot, t.lifecycle_digest, t.row_digest, t.digest_version
  from cutter_governance.cut_change_set_affected_row t;
comment on view cutter_governance.v_cut_change_set_affected_row is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
