-- promise: what the run wrote and nobody enacted is taken back, forward: through a compensating change set when leg B stands, and unit by
--          unit when it does not. Gives the digests of the rows that say so.
-- locks: the units (update)
create or replace function orchestrator.take_back(p_run orchestrator.run, p_principal text) returns bytea[]
language plpgsql
as $$
declare
  v_set cutter_governance.cut_change_set;
  v_rollback_id uuid := internal.derived_uuid(p_run.run_id, 'void');
begin
  select c.* into v_set from cutter_governance.cut_change_set c where c.change_set_id = internal.derived_uuid(p_run.run_id, 'change_set');
  if not found then
    return array(
      select r.digest
        from (select iu.retire_unit(m.unit_id, p_principal, v_rollback_id, 'run voided', 'none') as digest
                from orchestrator.units(p_run.run_id) m where (m.unit).id is not null order by m.address) r
       where r.digest is not null);
  end if;
  -- A failed verification took it back already; what is enacted stays: it is immutable.
  if exists (select from cutter_governance.cut_change_set c where c.rollback_of_change_set_id = v_set.change_set_id)
     or exists (select from iu.iu_lifecycle_log l where l.change_kind = 'enacted' and l.change_set_id = v_set.change_set_id) then
    return '{}';
  end if;
  return cutter_governance.compensate(v_set, v_rollback_id, p_principal, 'run voided', 'none');
end
$$;
