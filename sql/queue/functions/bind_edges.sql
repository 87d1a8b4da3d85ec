-- owner: chancery_owner
-- promise: a job's state changes along the edges of the job machine and no others, also by hand; and one that the log knows moves with
--          the log, or not at all (see the constraint trigger in triggers.sql). The edges stand in the trigger's clause as a list, since
--          jobs move in sets and PostgreSQL prepares the clause anew in every statement: a function in it cost as much as the lease.
-- callers: the release (triggers.sql), fsm.fn_machine_apply for a machine of scope job
-- Dynamic SQL here makes a trigger, with %L only.
create or replace function queue.bind_edges() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('create or replace trigger job_moves_along_edges before update of state on queue.job_queue
                    for each row when (old.state <> new.state and (old.seq > 0 and new.seq = old.seq or old.state || %L || new.state <> all (%L::text[])))
                    execute function internal.refuse_direct_write(%L)',
                 '>', (select coalesce(array_agg(distinct t.from_state || '>' || t.to_state), '{}')
                         from fsm.transition_def t join fsm.state_machine_def m using (state_machine_id)
                        where m.scope = 'job' and t.from_state is not null and not t.proposed), 'RS015');
  alter table queue.job_queue enable always trigger job_moves_along_edges;
end
$$;
