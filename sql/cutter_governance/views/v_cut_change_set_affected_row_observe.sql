create or replace view cutter_governance.v_cut_change_set_affected_row_observe with (security_barrier) as
select t.affected_row_id, t.change_set_id, t.render_order, t.target_table, t.target_row_id, t.operation_kind,
       t.lifecycle_digest, t.row_digest
  from cutter_governance.cut_change_set_affected_row t;
comment on view cutter_governance.v_cut_change_set_affected_row_observe is 'For the observer: without before_state_snapshot, after_state_snapshot.';
