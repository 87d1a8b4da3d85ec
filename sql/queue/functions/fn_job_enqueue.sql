-- promise: every job of the list is in the queue, once; the same key in a class gives the job that is there. All or none.
-- callers: chancery_app
-- refuses with: RE006 the class is unknown, RE007 malformed, RE008 a payload carries what it must not, RE009 the key stands for another job,
--               RI001–RI004, RS018
create or replace function queue.fn_job_enqueue(p_jobs jsonb, p_principal text, p_actor_class text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs queue.job_request[];
  v_unknown jsonb;
begin
  perform identity.require_actor(p_principal, p_actor_class);
  if not exists (select from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
                  where m.scope = 'job' and m.active and t.from_state is null and t.actor_class = p_actor_class) then
    perform internal.refuse(internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class)));
  end if;
  if jsonb_typeof(p_jobs) is distinct from 'array' or jsonb_array_length(p_jobs) = 0
     or jsonb_array_length(p_jobs) > (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'queue.enqueue.max_jobs') then
    perform internal.refuse(internal.problem('RE007', jsonb_build_object('malformed', 'a list of at least one job and no more than queue.enqueue.max_jobs')));
  end if;
  select jsonb_agg(distinct k) into v_unknown
    from jsonb_array_elements(p_jobs) j, lateral jsonb_object_keys(case jsonb_typeof(j) when 'object' then j else '{"": 0}' end) k
   where k <> all ('{class,kind,key,payload,payload_ref,source_ref,target_ref,priority,run_at,delay_ms,max_attempts,trace_id,correlation_id,causation_event_id}');
  if v_unknown is not null then
    perform internal.refuse(internal.problem('RE007', jsonb_build_object('malformed', 'members that a job does not have', 'members', v_unknown)));
  end if;
  begin
    v_jobs := array(select jsonb_populate_record(null::queue.job_request, j) from jsonb_array_elements(p_jobs) j);
  exception when data_exception then
    perform internal.refuse(internal.problem('RE007', jsonb_build_object('malformed', sqlerrm)));
  end;
  return jsonb_build_object('jobs', queue.enqueue(v_jobs, p_principal));
end
$$;
