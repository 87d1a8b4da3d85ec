-- promise: a run of an active custom machine exists, born through the engine like every later move; the same id and key
--          with the same request give the first answer again.
-- callers: chancery_app
-- arrow: ∅ → the machine's initial state
-- locks: parent (share), so that it cannot finish beside a child that is being born; then see fsm.move
-- refuses with: RS018 no active machine, RS023 the id is taken, RS024 the parent is unknown or finished, RS014 data is no
--               object, and whatever the birth row refuses
create or replace function fsm.fn_run_start(
  p_run_id uuid, p_machine text, p_data jsonb, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
  p_evidence jsonb, p_principal text, p_idempotency_key text, p_reason text default null, p_parent_run_id uuid default null,
  p_trace_id text default null, p_correlation_id text default null, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_machine record;
  v_existing record;
  v_parent record;
  v_result fsm.move_result;
  v_now timestamptz := internal.now();
begin
  if jsonb_typeof(p_data) is distinct from 'object' then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('member', 'data', 'expected', 'object', 'given', jsonb_typeof(p_data))));
  end if;
  select m.state_machine_id, m.initial_state into v_machine
    from fsm.state_machine_def m
   where m.scope = 'custom' and m.active and (m.name = p_machine or m.state_machine_id = p_machine);
  if v_machine.state_machine_id is null then
    perform internal.refuse(internal.problem('RS018', jsonb_build_object(
      'machine', p_machine,
      'active', (select coalesce(jsonb_agg(m.state_machine_id order by 1), '[]') from fsm.state_machine_def m where m.active and m.scope = 'custom'))));
  end if;
  if not exists (select from identity.principal p where p.name = p_principal) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  end if;
  if p_parent_run_id is not null then
    select r.state_code, s.is_terminal into v_parent
      from fsm.run r join fsm.state_def s using (state_machine_id, state_code)
     where r.run_id = p_parent_run_id
       for share of r;
    if v_parent.is_terminal is not false then
      perform internal.refuse(internal.problem('RS024', jsonb_build_object('parent', p_parent_run_id, 'state', v_parent.state_code)));
    end if;
  end if;

  insert into fsm.run (run_id, state_machine_id, state_code, seq, parent_run_id, data, started_by, trace_id, correlation_id,
                       created_at, last_transition_at)
  values (p_run_id, v_machine.state_machine_id, v_machine.initial_state, 0, p_parent_run_id, p_data, p_principal,
          coalesce(p_trace_id, replace(internal.uuid_v7()::text, '-', '')), coalesce(p_correlation_id, p_run_id::text), v_now, v_now)
  on conflict (run_id) do nothing;
  if not found then
    select r.state_machine_id, r.data, r.parent_run_id, l.idempotency_key, m.initial_state into v_existing
      from fsm.run r
      join fsm.transition_log l on l.run_id = r.run_id and l.seq = 1
      join fsm.state_machine_def m on m.state_machine_id = r.state_machine_id
     where r.run_id = p_run_id;
    -- Replay compares the birth row; what it does not hold is compared here.
    if v_existing.idempotency_key is distinct from p_idempotency_key or v_existing.data <> p_data
       or v_existing.parent_run_id is distinct from p_parent_run_id
       or split_part(v_existing.state_machine_id, '@', 1) <> split_part(p_machine, '@', 1) then
      perform internal.refuse(internal.problem('RS023', jsonb_build_object('run_id', p_run_id, 'machine', v_existing.state_machine_id)));
    end if;
    v_machine.initial_state := v_existing.initial_state;
  end if;

  v_result := fsm.move(p_run_id, 'custom', null, v_machine.initial_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence,
                       p_principal, p_idempotency_key, p_reason, fsm.run_digest(p_run_id), p_key_id, p_signature);
  if v_result.problems is not null then
    perform internal.refuse(v_result.problems);
  end if;
  return fsm.move_report(v_result, p_run_id, v_machine.initial_state);
end
$$;
