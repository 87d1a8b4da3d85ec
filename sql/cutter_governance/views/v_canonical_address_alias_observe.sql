create or replace view cutter_governance.v_canonical_address_alias_observe with (security_barrier) as
select t.alias_id, t.target_unit_id, t.alias_text, t.alias_kind, t.valid_from, t.valid_until, t.created_by
  from cutter_governance.canonical_address_alias t;
comment on view cutter_governance.v_canonical_address_alias_observe is 'For the observer: without rationale, scenario_ref.';
