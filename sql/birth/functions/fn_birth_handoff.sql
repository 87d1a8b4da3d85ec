-- promise: births that were committed since the last pass are candidates of governance, each once, in the order of their transactions,
--          and each is announced (handoff.object_born), or its announcement waits in event_pending while it cannot be made. A birth is
--          never touched. Says whether there may be more.
-- callers: chancery_app (system): the handoff loop, and dot-birth-admit after its commit
-- arrow: ∅ → received → announced
-- locks: the cursor, so that passes follow each other; then see fsm.move
-- refuses with: RS018, RI001–RI004
create or replace function birth.fn_birth_handoff(p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'birth.handoff.max_batch');
  v_system bigint := (select s.system_identifier from pg_control_system() s);
  v_cursor birth.handoff_cursor;
  v_before pg_snapshot;
  v_seen pg_snapshot;
  v_birth record;
  v_births uuid[];
  v_handed integer := 0;
  v_pending integer := 0;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  select c.* into strict v_cursor from birth.handoff_cursor c for update;
  -- Moved to another cluster: transaction numbers of elsewhere mean nothing here, so everything is looked at once more. What was handed
  -- over has its candidate, and is passed by.
  v_before := case when v_cursor.system_identifier in (0, v_system) then v_cursor.seen_snapshot else '1:1:'::pg_snapshot end;
  -- One statement, so that the snapshot it keeps is the one it read with. A pass that does not get to the end leaves the cursor.
  select array(
           select b.birth_id from birth.birth_registry b
            where b.xid >= pg_snapshot_xmin(v_before) and not pg_visible_in_snapshot(b.xid, v_before)
              and not exists (select from governance.governance_candidate_state c where c.birth_id = b.birth_id)
            order by b.xid, b.birth_id limit v_most + 1), pg_current_snapshot()
    into v_births, v_seen;
  for v_birth in
    select b.birth_id, b.collection_name, b.entity_code, b.governance_role
      from unnest(v_births[1 : v_most]) with ordinality u (birth_id, n) join birth.birth_registry b using (birth_id) order by u.n
  loop
    if not birth.hand_over(v_birth.birth_id, v_birth.collection_name, v_birth.entity_code, v_birth.governance_role, p_principal) then
      v_pending := v_pending + 1;
    end if;
    v_handed := v_handed + 1;
  end loop;
  perform birth.report_missing(v_births[1 : v_most], p_principal);
  if cardinality(v_births) <= v_most then
    update birth.handoff_cursor set seen_snapshot = v_seen, system_identifier = v_system;
  end if;
  return jsonb_build_object('handed', v_handed, 'waiting', v_pending, 'more', cardinality(v_births) > v_most);
end
$$;
