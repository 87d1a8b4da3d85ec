-- owner: chancery_guard
-- promise: IG_cut_leg_a_execute: exactly the planned units, made in this transaction, all of them drafts, and the plan is the approved one.
create or replace function orchestrator.inv_cut_leg_a(p_run orchestrator.run, p_pins jsonb, p_evidence jsonb) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'writer_digest_is_the_approved_one', p_evidence ->> 'writer_digest' = p_pins ->> 'writer_digest',
    'exactly_n_created', count(*) = (p_pins ->> 'candidate_count')::integer and count((s.unit).id) = count(*),
    'one_transaction', coalesce(bool_and((select u.xmin from iu.information_unit u where u.id = s.unit_id)::text = (pg_current_xact_id_if_assigned()::xid)::text), false),
    'none_but_drafts', coalesce(bool_and((s.unit).lifecycle_status = 'draft' and (s.version).lifecycle_status = 'draft'), false))
    from orchestrator.units(p_run.run_id) s
$$;
