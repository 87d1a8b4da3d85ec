-- promise: permits past their time are expired, so many of them; families with such permits, gates that are not in place, and a watchdog
--          that slept are findings. What is well again is closed. Says whether there may be more.
-- callers: chancery_app (system): the watchdog loop
-- locks: permits one by one, see fsm.move, and never one that somebody holds: it holds many itself, so to wait would be to close a circle.
--        Who holds one settles it, or the next turn finds it. Then findings in the order of their families.
-- refuses with: RS018, RI001–RI004
create or replace function birth.fn_permit_watchdog(p_limit integer, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_gap integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'birth.permit.silent_gap_seconds');
  v_limit integer := greatest(least(coalesce(p_limit, 500), 5000), 1);
  v_oldest timestamptz;
  v_permit record;
  v_seen integer := 0;
  v_expired jsonb := '{}';
  v_family record;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, 'system');
  select min(p.expires_at) into v_oldest from birth.birth_admission_permit p where p.status = 'RESERVED' and p.live and p.seq = 1 and p.expires_at <= internal.now();
  for v_permit in
    select p.permit_id, p.collection_name, p.entity_code from birth.birth_admission_permit p
     where p.status = 'RESERVED' and p.live and p.seq = 1 and p.expires_at <= internal.now() order by p.expires_at, p.permit_id limit v_limit
       for no key update skip locked
  loop
    v_seen := v_seen + 1;
    if birth.expire(v_permit.permit_id, p_principal) then
      v_expired := jsonb_set(v_expired, array[v_permit.collection_name],
                             coalesce(v_expired -> v_permit.collection_name, '[]') || to_jsonb(v_permit.entity_code));
    end if;
  end loop;
  for v_family in select k.key as collection_name, k.value as codes from jsonb_each(v_expired) k order by 1 loop
    perform governance.require_open(
      'birth_watchdog', 'warning', 'birth_permit_expired', 'operation', format('permits of %s were not used in time', v_family.collection_name), null,
      'birth_family', v_family.collection_name,
      jsonb_build_object('permits', jsonb_array_length(v_family.codes), 'codes', jsonb_path_query_array(v_family.codes, '$[0 to 9]')), p_principal);
  end loop;
  if v_oldest < internal.now() - make_interval(secs => v_gap) then
    perform governance.require_open(
      'birth_watchdog', 'warning', 'birth_permit_silent_gap', 'silent_worker', 'permits were past their time and nobody expired them', null,
      'birth_watchdog', 'permits', jsonb_build_object('oldest', v_oldest, 'gap_seconds', v_gap), p_principal);
  elsif v_seen < v_limit then
    perform governance.issue_close('birth_permit_silent_gap', 'birth_watchdog', 'permits', 'healed', 'permits are expired in time', p_principal,
                                   jsonb_build_object('measured', jsonb_build_object('gap_seconds', v_gap)));
  end if;
  perform birth.see_parts(f.collection_name) from birth.family f join pg_partitioned_table t on t.partrelid = f.relation where f.active;
  -- What was drawn so long ago was used or is a gap: a permit lasts a week at most.
  delete from birth.drawn_codes d
   where d.batch_id in (select o.batch_id from birth.drawn_codes o where o.drawn_at < internal.now() - interval '8 days' order by o.drawn_at limit 1000);
  for v_family in select f.collection_name, f.table_name, f.armed, f.active, f.mode, f.heirs, f.came_with_rows from birth.v_family f order by 1 loop
    if v_family.active and v_family.armed is distinct from true then
      perform governance.require_open(
        'birth_watchdog', 'critical', 'birth_gate_drift', 'integrity', case when v_family.heirs <> '{}' then format('rows pass the gate of %s through tables that inherit from it: %s', v_family.collection_name, array_to_string(v_family.heirs[1:5], ', '))
                                                    else format('the gate of %s is not in place', v_family.collection_name) end, null,
        'birth_family', v_family.collection_name, jsonb_build_object('table', v_family.table_name, 'mode', v_family.mode, 'heirs', v_family.heirs), p_principal);
    else
      perform governance.issue_close('birth_gate_drift', 'birth_family', v_family.collection_name, 'resolved',
                                     case when v_family.active then 'the gate is in place' else 'the family was released' end, p_principal);
    end if;
    if v_family.came_with_rows <> '{}' then
      perform governance.require_open(
        'birth_watchdog', 'warning', 'birth_rows_unadmitted', 'integrity',
        format('partitions came to %s with rows that met no gate: %s', v_family.collection_name, array_to_string(v_family.came_with_rows[1:5], ', ')), null,
        'birth_family', v_family.collection_name, jsonb_build_object('table', v_family.table_name, 'partitions', v_family.came_with_rows), p_principal);
    else
      perform governance.issue_close('birth_rows_unadmitted', 'birth_family', v_family.collection_name, 'resolved',
                                     case when v_family.active then 'its partitions are accepted as they are' else 'the family was released' end, p_principal);
    end if;
  end loop;
  return jsonb_build_object('expired', (select coalesce(sum(jsonb_array_length(k.value)), 0) from jsonb_each(v_expired) k), 'more', v_seen = v_limit);
end
$$;
