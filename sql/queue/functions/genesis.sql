-- promise: the hash that the first logged move of a job is chained to. Jobs live outside of the log until they die or somebody acts on
--          them, so there is no birth row to start from.
create or replace function queue.genesis(p_job_id uuid) returns bytea
language sql immutable
as $$ select sha256(convert_to('chancery.job.v1,' || p_job_id::text, 'UTF8')) $$;
