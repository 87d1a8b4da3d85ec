-- promise: the machine stands in the registry as its file says, and is active if asked and all its guards are registered.
--          The same definition again changes nothing. A version that has runs is never edited. A version that is older than the active one
--          becomes active only when that is asked for (p_older): who applies an old file by mistake changes what new runs do.
-- callers: chancery_migrator (the operator); the definition was checked by chancery-model before it came here, and what can
--          be held by rows is held here again
-- locks: the machine's row (update), so that no run is born from a version while it is replaced
-- refuses with: RS028 older than the active version, RS019 version has runs, RS020 definition is not sound, RS021 guard not registered, RE003 schema outside the subset,
--               RE005 event type registered otherwise
create or replace function fsm.fn_machine_apply(
  p_definition jsonb, p_sha256 text, p_applied_by text, p_activate boolean, p_older boolean default false
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_id text := (p_definition ->> 'machine') || '@' || (p_definition ->> 'version');
  v_old record;
  v_outcome text := 'created';
  v_missing jsonb;
  v_active text;
begin
  -- One application at a time: they are rare, and two at once could both find "no active version".
  perform internal.take_turn('fsm.fn_machine_apply');
  select m.definition_sha256 into v_old
    from fsm.state_machine_def m where m.state_machine_id = v_id for update;
  if exists (select from fsm.state_machine_def m where m.name = p_definition ->> 'machine' and m.scope <> p_definition ->> 'scope') then
    perform internal.refuse(internal.problem('RS020', jsonb_build_object('machine', v_id, 'name_is_taken_by_scope', (
      select min(m.scope) from fsm.state_machine_def m where m.name = p_definition ->> 'machine'))));
  end if;
  select m.state_machine_id into v_active
    from fsm.state_machine_def m where m.active and m.scope = p_definition ->> 'scope' and m.name = p_definition ->> 'machine';
  if p_activate and not p_older and fsm.version_key(split_part(v_active, '@', 2)) > fsm.version_key(p_definition ->> 'version') collate "C" then
    perform internal.refuse(internal.problem('RS028', jsonb_build_object('machine', v_id, 'active', v_active)));
  end if;
  if v_old.definition_sha256 = p_sha256 then
    v_outcome := 'unchanged';
  else
    if v_old.definition_sha256 is not null then
      if exists (select from fsm.transition_log l where l.state_machine_id = v_id)
         or exists (select from fsm.run r where r.state_machine_id = v_id) then
        perform internal.refuse(internal.problem('RS019', jsonb_build_object('machine', v_id)));
      end if;
      perform fsm.drop_definition(v_id);
      v_outcome := 'replaced';
    end if;
    perform fsm.store_definition(v_id, p_definition, p_sha256, p_applied_by);
  end if;

  select v.guards_not_registered into v_missing from fsm.v_machine v where v.state_machine_id = v_id;
  if p_activate then
    if v_missing <> '[]' then
      perform internal.refuse(internal.problem('RS021', jsonb_build_object('machine', v_id, 'guards', v_missing)));
    end if;
    if not exists (select from fsm.state_machine_def m where m.state_machine_id = v_id and m.active) then
      update fsm.state_machine_def set active = false
       where active and scope = p_definition ->> 'scope' and name = p_definition ->> 'machine';
      update fsm.state_machine_def set active = true where state_machine_id = v_id;
      v_outcome := case v_outcome when 'unchanged' then 'activated' else v_outcome end;
    end if;
  end if;
  if p_definition ->> 'scope' = 'job' then
    perform queue.bind_edges();
  end if;
  return jsonb_build_object(
    'machine', v_id, 'outcome', v_outcome,
    'active', (select m.active from fsm.state_machine_def m where m.state_machine_id = v_id),
    'guards_not_registered', v_missing);
end
$$;
