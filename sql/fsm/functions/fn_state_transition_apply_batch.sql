-- promise: many moves in one call and one transaction, a verdict each, in the order given. A refused move changes nothing
--          and stops no other.
-- callers: as fn_state_transition_apply
-- locks: runs in the order of their ids, so that two batches cannot wait for each other; then see fsm.move
-- refuses with: RS014 when the batch is not an array of objects; what concerns one move stands in its verdict
-- Why some of them move together: docs/decisions/0027-a-batch-moves-its-runs-together.md.
create or replace function fsm.fn_state_transition_apply_batch(p_moves jsonb) returns json
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_part record;
  v_done record;
  v_move fsm.batched_move;
  v_reports json[];
  v_verified bytea[] := '{}';
  v_problems jsonb;
begin
  if jsonb_typeof(p_moves) is distinct from 'array' or p_moves @? 'strict $[*] ? (@.type() <> "object")' then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('expected', 'an array of moves')));
  end if;
  v_reports := array_fill(null::json, array[jsonb_array_length(p_moves)]);
  -- Signatures before locks: the first move that is made holds its run until all are.
  if p_moves @? '$[*].signature ? (@ != null)' then
    for v_move in select m.* from fsm.parts_of_batch(p_moves) p, unnest(p.moves) m where m.signature is not null loop
      v_problems := fsm.early_signature_problems(
        v_move.run_kind, v_move.run_id, v_move.to_state, v_move.actor_class, v_move.trigger_kind, v_move.trigger_ref, v_move.evidence, v_move.principal,
        v_move.idempotency_key, v_move.reason, v_move.key_id, v_move.signature);
      if v_problems = '[]' then
        v_verified[v_move.place] := fsm.signed_digest(
          fsm.move_statement(v_move.run_kind, v_move.run_id, v_move.to_state, v_move.actor_class, v_move.trigger_kind, v_move.trigger_ref, v_move.evidence,
                             v_move.principal, v_move.idempotency_key, v_move.reason, null, null), v_move.key_id, v_move.signature);
      elsif v_problems is not null then
        v_reports[v_move.place] := fsm.refused(v_move.run_id, v_move.to_state, v_problems);
      end if;
    end loop;
  end if;
  for v_part in select p.short, p.moves from fsm.parts_of_batch(p_moves) p loop
    if v_part.short then
      for v_done in select d.place, d.report from fsm.move_together(v_part.moves) d loop
        v_reports[v_done.place] := v_done.report;
      end loop;
    end if;
    -- What has to go by itself, and what someone moved since it was looked at.
    foreach v_move in array v_part.moves loop
      continue when v_reports[v_move.place] is not null;
      v_reports[v_move.place] := case
        when v_move.run_kind is distinct from 'custom' and fsm.is_moved_by_its_room(v_move.run_kind) then
          fsm.refused(v_move.run_id, v_move.to_state, internal.problem('RS026', jsonb_build_object('run_kind', v_move.run_kind)))
        else fsm.move(
          v_move.run_id, v_move.run_kind, v_move.from_state, v_move.to_state, v_move.actor_class, v_move.trigger_kind,
          v_move.trigger_ref, v_move.evidence, v_move.principal, v_move.idempotency_key, v_move.reason, v_move.artefact_digest,
          v_move.key_id, v_move.signature, p_verified => v_verified[v_move.place]) end;
    end loop;
  end loop;
  return to_json(v_reports);
end
$$;
