-- promise: a run of an active custom machine exists, born through the engine like every later move; the same id and key
--          with the same request give the first answer again.
-- callers: chancery_app
-- arrow: ∅ → the machine's initial state
-- locks: parent (share), so that it cannot finish beside a child that is being born; then see fsm.move
-- refuses with: RS018 no active machine, RS023 the id is taken, RS024 the parent is unknown or finished, RS014 data is no
--               object, RS027 data of another shape, and whatever the birth row refuses
create or replace function fsm.fn_run_start(
  p_run_id uuid, p_machine text, p_data jsonb, p_actor_class text, p_trigger_kind text, p_trigger_ref text,
  p_evidence jsonb, p_principal text, p_idempotency_key text, p_reason text default null, p_parent_run_id uuid default null,
  p_trace_id text default null, p_correlation_id text default null, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_existing record;
  v_report jsonb;
  v_initial_state text;
  v_verified bytea;
begin
  if jsonb_typeof(p_data) is distinct from 'object' then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('member', 'data', 'expected', 'object', 'given', jsonb_typeof(p_data))));
  end if;
  if p_trace_id !~ '^[0-9a-f]{32}$' or p_trace_id ~ '^0+$' then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('member', 'trace_id', 'expected', '32 hex digits, not all zero')));
  end if;

  if p_signature is not null and not exists (select from fsm.run r where r.run_id = p_run_id) then
    v_verified := (
      select fsm.require_move_signature('custom', p_run_id, m.initial_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence, p_principal,
                                        p_idempotency_key, p_reason, p_key_id, p_signature, m.state_machine_id, p_data)
        from fsm.state_machine_def m where m.scope = 'custom' and m.active and (m.name = p_machine or m.state_machine_id = p_machine));
  end if;

  loop
    -- A repeated birth is answered from what is there, whatever has become of its machine and its parent since.
    select r.state_machine_id, r.data, r.parent_run_id, l.idempotency_key, l.to_state into v_existing
      from fsm.run r join fsm.transition_log l on l.run_id = r.run_id and l.seq = 1
     where r.run_id = p_run_id;
    if found then
      if v_existing.idempotency_key is distinct from p_idempotency_key or v_existing.data <> p_data
         or v_existing.parent_run_id is distinct from p_parent_run_id
         or split_part(v_existing.state_machine_id, '@', 1) <> split_part(p_machine, '@', 1) then
        perform internal.refuse(internal.problem('RS023', jsonb_build_object('run_id', p_run_id, 'machine', v_existing.state_machine_id)));
      end if;
      v_initial_state := v_existing.to_state;
    else
      v_initial_state := fsm.insert_run(p_run_id, p_machine, p_data, p_principal, p_parent_run_id, p_trace_id, p_correlation_id);
    end if;
    -- Two births of one id at the same time: the second waited for the first and now looks again.
    exit when v_initial_state is not null;
    perform fsm.require_fresh_reads();
  end loop;

  v_report := fsm.move(p_run_id, 'custom', null, v_initial_state, p_actor_class, p_trigger_kind, p_trigger_ref, p_evidence,
                       p_principal, p_idempotency_key, p_reason, fsm.run_digest(p_run_id), p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return v_report;
end
$$;
