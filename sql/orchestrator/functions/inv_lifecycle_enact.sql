-- owner: chancery_guard
-- promise: IG_lifecycle_enact_execute: every unit is enacted under the approved decision, in this transaction, none partly, each with its
--          line in the lifecycle log, and the triggers that keep them so are on.
create or replace function orchestrator.inv_lifecycle_enact(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'all_enacted', count(*) = (p_pins ->> 'candidate_count')::integer and coalesce(bool_and((s.unit).lifecycle_status = 'enacted'), false),
    'none_partly', coalesce(bool_and((s.unit).lifecycle_status = (s.version).lifecycle_status and (s.version).enacted_at is not null), false),
    -- A unit that was enacted before, elsewhere, is answered by fn_iu_enact with that enactment; it is not this run's.
    'one_transaction', coalesce(bool_and((select u.xmin from iu.information_unit u where u.id = s.unit_id)::text = (pg_current_xact_id_if_assigned()::xid)::text), false),
    'lifecycle_log_is_complete', (
      select count(*) from iu.iu_lifecycle_log l
       where l.unit_id in (select m.unit_id from orchestrator.units(p_run.run_id) m) and l.change_kind = 'enacted'
         and l.review_decision_id = internal.derived_uuid(p_run.run_id, 'lifecycle_decision')) = (p_pins ->> 'candidate_count')::integer,
    'immutability_is_armed', (
      select count(*) from pg_trigger t
       where t.tgenabled = 'A' and (t.tgname, t.tgrelid) in (('trg_iu_enacted_immut', 'iu.information_unit'::regclass), ('trg_uv_enacted_immut', 'iu.unit_version'::regclass))) = 2)
    from orchestrator.units(p_run.run_id) s
$$;
