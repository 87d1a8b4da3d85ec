-- promise: the unit and its anchored text are enacted, by a decision that was made for exactly this, and immutable from then on.
--          An enacted unit is answered with its enactment.
-- callers: cutter_exec
-- locks: the unit (update), the decision (share)
-- refuses with: RI001–RI004, RI027 not a draft, RI028 no such unit, RI030 no decision that allows it, RA030 its key was revoked
create or replace function iu.fn_iu_enact(
  p_canonical_address text, p_actor text, p_review_decision_id uuid, p_target_lifecycle text default 'enacted',
  p_change_set_id uuid default null, p_reason text default null, p_tool_revision text default null, p_dry_run boolean default false
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_unit iu.information_unit;
  v_enacted record;
  v_problem jsonb;
  v_now timestamptz;
begin
  perform iu.require_writer(p_actor);
  perform from cutter_governance.review_decision d where d.review_decision_id = p_review_decision_id for share;
  select l.unit_id, l.unit_version_id, l.review_decision_id into v_enacted
    from iu.information_unit u join iu.iu_lifecycle_log l on l.unit_id = u.id and l.change_kind = 'enacted'
   where u.canonical_address = p_canonical_address and u.deleted_at is null;
  if found and v_enacted.review_decision_id = p_review_decision_id then
    return jsonb_build_object('status', 'enacted', 'unit_id', v_enacted.unit_id, 'version_id', v_enacted.unit_version_id, 'replayed', true);
  end if;
  v_unit := iu.draft_unit(p_canonical_address);
  v_problem := cutter_governance.revoked_decision(p_review_decision_id);
  if v_problem is not null then
    perform internal.refuse(v_problem);
  end if;
  v_problem := iu.enact_problem(v_unit.id, p_review_decision_id, p_target_lifecycle);
  if v_problem is not null then
    perform internal.refuse(internal.problem('RI030', v_problem || jsonb_build_object('address', p_canonical_address)));
  end if;
  if p_dry_run then
    return jsonb_build_object('status', 'would_enact', 'unit_id', v_unit.id, 'version_id', v_unit.version_anchor_ref, 'replayed', false);
  end if;
  v_now := internal.now();
  perform set_config('app.canonical_writer', 'fn_iu_enact', true);
  update iu.unit_version v set lifecycle_status = 'enacted', enacted_at = v_now where v.id = v_unit.version_anchor_ref;
  update iu.information_unit u set lifecycle_status = 'enacted', updated_at = v_now, updated_by = p_actor where u.id = v_unit.id;
  perform iu.record_change(v_unit.id, 'enacted', 'draft', p_review_decision_id, p_change_set_id, null, p_actor, p_reason, p_tool_revision);
  return jsonb_build_object('status', 'enacted', 'unit_id', v_unit.id, 'version_id', v_unit.version_anchor_ref, 'replayed', false);
end
$$;
