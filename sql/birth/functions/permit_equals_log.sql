-- promise: at COMMIT no permit is left consumed, and each stands as its newest log row says, whoever wrote it. The first event of a
--          consumed permit settles all that the transaction consumed.
-- callers: the constraint trigger of the permits
-- refuses with: RS017, RB006 the constraints were made immediate before the row was there
create or replace function birth.permit_equals_log() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_log record;
begin
  if new.status = 'CONSUMED' then
    -- One that is not consumed any more moved on; that move has an event of its own.
    perform from birth.birth_admission_permit p where p.permit_id = new.permit_id and p.status = 'CONSUMED';
    if not found then
      return null;
    -- Inside the gate nobody can know yet whether a row will follow.
    elsif pg_trigger_depth() > 1 then
      perform internal.refuse(internal.problem('RB006', jsonb_build_object('collection', new.collection_name, 'entity_code', new.entity_code)));
    end if;
    perform birth.settle(new.permit_id);
    return null;
  end if;
  -- What is nearly always so: it was written as its newest log row says. Had it moved on since, that move would have an event of its own.
  perform from (select l.to_state, l.seq, l.hash, l.at, l.facet from fsm.transition_log l where l.run_id = new.permit_id order by l.seq desc limit 1) l
   where l.seq = new.seq and l.to_state = new.status and l.hash = new.head_hash and l.at = new.last_transition_at and l.facet is not distinct from new.facet;
  if found then
    return null;
  end if;
  perform from birth.birth_admission_permit p
   where p.permit_id = new.permit_id
     and (p.status, p.seq, p.head_hash, p.last_transition_at, p.facet) is not distinct from (new.status, new.seq, new.head_hash, new.last_transition_at, new.facet);
  if found then
    select l.to_state, l.seq into v_log from fsm.transition_log l where l.run_id = new.permit_id order by l.seq desc limit 1;
    perform internal.refuse(internal.problem('RS017', jsonb_build_object(
      'run_kind', 'birth_permit', 'run_id', new.permit_id, 'state', new.status, 'seq', new.seq, 'log_state', v_log.to_state, 'log_seq', v_log.seq)));
  end if;
  return null;
end
$$;
