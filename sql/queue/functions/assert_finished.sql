-- promise: a job leaves the queue only for job_finished, whoever deletes it: none is ever lost.
create or replace function queue.assert_finished() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from gone g where (select true from queue.job_finished f where f.job_id = g.job_id limit 1) is not true) then
    perform internal.refuse(internal.problem('RS015', jsonb_build_object('table', 'queue.job_queue', 'operation', 'delete', 'login', session_user)));
  end if;
  return null;
end
$$;
