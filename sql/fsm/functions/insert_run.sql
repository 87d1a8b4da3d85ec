-- promise: a run that waits for its birth (seq 0) in its machine's initial state; the move that follows makes it real, and
--          without that move it cannot be committed. Returns the initial state,
--          or null when the id is taken.
-- locks: parent (share), so that it cannot finish beside a child that is being born
-- refuses with: RS018 no active machine, RS027 data of another shape, RS024 the parent is unknown or finished, RS025, RI001
create or replace function fsm.insert_run(
  p_run_id uuid, p_machine text, p_data jsonb, p_principal text, p_parent_run_id uuid, p_trace_id text, p_correlation_id text
) returns text
language plpgsql
as $$
declare
  v_machine record;
  v_parent record;
  v_problems jsonb;
  v_now timestamptz := internal.now();
begin
  select m.state_machine_id, m.initial_state, m.data_schema into v_machine
    from fsm.state_machine_def m
   where m.scope = 'custom' and m.active and (m.name = p_machine or m.state_machine_id = p_machine);
  if not found then
    perform internal.refuse(internal.problem('RS018', jsonb_build_object(
      'machine', p_machine,
      'active', (select coalesce(jsonb_agg(m.state_machine_id order by 1), '[]') from fsm.state_machine_def m where m.active and m.scope = 'custom'))));
  end if;
  if v_machine.data_schema is not null then
    v_problems := fsm.shape_problems('data', null, v_machine.data_schema, p_data);
    if v_problems <> '[]' then
      perform internal.refuse(v_problems);
    end if;
  end if;
  if not exists (select from identity.principal p where p.name = p_principal) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  end if;
  if p_parent_run_id is not null then
    -- Locked first and read afterwards: a joined read that waits for the lock compares the parent's new state with the old row.
    perform fsm.require_fresh_reads();
    perform from fsm.run r where r.run_id = p_parent_run_id for share;
    select r.state_code, s.is_terminal into v_parent
      from fsm.run r join fsm.state_def s using (state_machine_id, state_code)
     where r.run_id = p_parent_run_id;
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
    -- Somebody committed this id since the caller looked.
    return null;
  end if;
  return v_machine.initial_state;
end
$$;
