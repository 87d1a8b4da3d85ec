-- promise: nobody writes by hand what the orchestrator writes: receipts, reports, requests and the index of runs. Below a run, the sovereign
--          answers and voids, and a runner asks to go on with a stopped run; everything else is written by the doors of the gates.
-- callers: kb.fn_kb_put
-- refuses with: RO012
create or replace function orchestrator.require_writable_path(p_path text, p_kind text, p_principal text, p_actor_class text) returns void
language plpgsql
as $$
declare
  v_part text[] := regexp_match(p_path, '^orchestrator/([^/]+)/([^/]+)$');
  v_run record;
begin
  if p_path is null or p_path <> 'orchestrator' and not starts_with(p_path, 'orchestrator/') then
    return;
  end if;
  select r.run_name, r.started_by into v_run from orchestrator.run r where lower(r.run_name) = v_part[1];
  if found and (
       p_actor_class = 'sovereign' and (p_kind = 'approval' and v_part[2] ~ '-approval(-[0-9]+)?$' or p_kind = 'void' and v_part[2] = 'void')
       or p_actor_class = 'executor_dot991' and session_user::text = 'cutter_exec' and p_kind = 'request'
          and v_part[2] ~ '^sg3-(resume|drift-ack)-request-[0-9]+$') then
    return;
  end if;
  perform internal.refuse(internal.problem('RO012', jsonb_build_object(
    'path', p_path, 'kind', p_kind, 'principal', p_principal, 'actor_class', p_actor_class, 'run_id', v_run.run_name, 'runner', v_run.started_by)));
end
$$;
