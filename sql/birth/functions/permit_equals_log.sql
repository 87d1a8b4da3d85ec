-- promise: at COMMIT no permit is left consumed, and each stands as its newest log row says, whoever wrote it. The first event of a
--          consumed permit settles all that the transaction consumed.
-- callers: the constraint trigger of the permits
-- refuses with: RS017, RB006 the constraints were made immediate before the row was there
create or replace function birth.permit_equals_log() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_permit record;
  v_log record;
begin
  select p.status, p.seq, p.head_hash, p.last_transition_at, p.facet into v_permit from birth.birth_admission_permit p where p.permit_id = new.permit_id;
  if v_permit.status = 'CONSUMED' then
    -- Inside the gate nobody can know yet whether a row will follow.
    if pg_trigger_depth() > 1 then
      perform internal.refuse(internal.problem('RB006', jsonb_build_object('collection', new.collection_name, 'entity_code', new.entity_code)));
    end if;
    perform birth.settle(new.permit_id);
    return null;
  elsif v_permit.seq <> new.seq then
    -- It moved on; that move has an event of its own.
    return null;
  end if;
  select l.to_state, l.seq, l.hash, l.at, l.facet into v_log from fsm.transition_log l where l.run_id = new.permit_id order by l.seq desc limit 1;
  if v_log.seq is null or v_permit.seq <> v_log.seq or v_permit.status <> v_log.to_state or v_permit.head_hash <> v_log.hash
     or v_permit.last_transition_at <> v_log.at or v_permit.facet is distinct from v_log.facet then
    perform internal.refuse(internal.problem('RS017', jsonb_build_object(
      'run_kind', 'birth_permit', 'run_id', new.permit_id, 'state', v_permit.status, 'seq', v_permit.seq, 'log_state', v_log.to_state, 'log_seq', v_log.seq)));
  end if;
  return null;
end
$$;
