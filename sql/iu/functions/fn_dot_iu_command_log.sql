-- promise: the step stands in the ledger of commands, once an attempt. A command that is not in the catalogue is refused, and so is a
--          step whose precondition is no fact yet. Gives the steps of this request so far.
-- callers: chancery_app
-- refuses with: RB014 the step is out of order, RB015 the command is unknown, RB012 malformed, RI001, RI002
create or replace function iu.fn_dot_iu_command_log(
  p_command_name text, p_run_mode text, p_phase text, p_status text, p_request_hash bytea, p_before jsonb, p_after jsonb, p_actor text
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_active boolean;
  v_attempt integer;
  v_missing text;
begin
  perform fsm.require_fresh_reads();
  if not exists (select from iu.dot_iu_command_catalog c where c.command_name = p_command_name) then
    perform internal.refuse(internal.problem('RB015', jsonb_build_object(
      'command', p_command_name, 'known', (select jsonb_agg(c.command_name order by c.command_name) from iu.dot_iu_command_catalog c))));
  end if;
  select p.active into v_active from identity.principal p where p.name = p_actor;
  if v_active is distinct from true then
    perform internal.refuse(internal.problem(case when v_active is null then 'RI001' else 'RI002' end, jsonb_build_object('principal', p_actor)));
  elsif octet_length(p_request_hash) is distinct from 32 or jsonb_typeof(coalesce(p_before, '{}')) <> 'object' or jsonb_typeof(coalesce(p_after, '{}')) <> 'object'
        or p_run_mode not in ('plan', 'apply', 'verify') or p_status not in ('ok', 'failed') or p_run_mode is null or p_status is null then
    perform internal.refuse(internal.problem('RB012', jsonb_build_object(
      'command', p_command_name, 'field', 'step', 'expected', 'a mode, a status, a digest of 32 bytes and objects before and after')));
  end if;
  -- The same step twice at once: the second waits here and then sees the first.
  perform internal.take_turn('iu.command:' || encode(p_request_hash, 'hex'));
  v_attempt := birth.attempt_of(p_request_hash, p_phase);
  v_missing := birth.step_precondition(p_request_hash, v_attempt, p_phase);
  if v_missing is not null then
    perform internal.refuse(internal.problem('RB014', jsonb_build_object('command', p_command_name, 'phase', p_phase, 'missing', v_missing)));
  end if;
  insert into iu.dot_iu_command_run (
    command_run_id, command_name, run_mode, phase, status, request_hash, attempt, before_state, after_state, actor, login_role, at)
  values (internal.uuid_v7(), p_command_name, p_run_mode, p_phase, p_status, p_request_hash, v_attempt, internal.canonical_json(coalesce(p_before, '{}')),
          internal.canonical_json(coalesce(p_after, '{}')), p_actor, session_user, internal.now())
  on conflict (request_hash, command_name, attempt, phase) do nothing;
  return (select jsonb_agg(jsonb_build_object('phase', r.phase, 'status', r.status, 'attempt', r.attempt, 'at', r.at) order by r.at, r.command_run_id)
            from iu.dot_iu_command_run r where r.request_hash = p_request_hash and r.command_name = p_command_name and r.attempt = v_attempt);
end
$$;
