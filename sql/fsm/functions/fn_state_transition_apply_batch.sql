-- promise: many moves in one call and one transaction, a verdict each, in the order given. A refused move changes nothing
--          and stops no other.
-- callers: as fn_state_transition_apply
-- locks: runs in the order of their ids, so that two batches cannot wait for each other; then see fsm.move
-- refuses with: RS014 when the batch is not an array of objects; what concerns one move stands in its verdict
create or replace function fsm.fn_state_transition_apply_batch(p_moves jsonb) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_move record;
  v_reports json[] := '{}';
begin
  if jsonb_typeof(p_moves) is distinct from 'array'
     or exists (select from jsonb_array_elements(p_moves) m where jsonb_typeof(m) <> 'object') then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('expected', 'an array of moves')));
  end if;
  v_reports := array_fill(null::json, array[jsonb_array_length(p_moves)]);
  for v_move in
    select e.n, m.*
      from jsonb_array_elements(p_moves) with ordinality e (move, n),
           jsonb_to_record(e.move) m (
             run_id uuid, run_kind text, "from" text, "to" text, actor_class text, trigger_kind text, trigger_ref text,
             evidence jsonb, principal text, idempotency_key text, reason text, artefact_digest text, key_id uuid, signature text)
     order by m.run_id, e.n
  loop
    v_reports[v_move.n] := case when v_move.run_kind is distinct from 'custom' and fsm.is_moved_by_its_room(v_move.run_kind) then
      fsm.refused(v_move.run_id, v_move."to", internal.problem('RS026', jsonb_build_object('run_kind', v_move.run_kind)))
    else fsm.move(
      v_move.run_id, v_move.run_kind, v_move."from", v_move."to", v_move.actor_class, v_move.trigger_kind, v_move.trigger_ref,
      coalesce(v_move.evidence, '{}'), v_move.principal, v_move.idempotency_key, v_move.reason,
      decode(v_move.artefact_digest, 'hex'), v_move.key_id, decode(v_move.signature, 'hex')) end;
  end loop;
  return to_json(v_reports);
end
$$;
