-- promise: the id of the job with this key in this class: a UUID version 8 from SHA-256, so that a repeated request is a hit of the
--          primary key.
create or replace function queue.job_id(p_executor_class text, p_key text) returns uuid
language sql immutable
as $$
  select overlay(overlay(left(encode(sha256(convert_to('chancery.job.v1,' || p_executor_class || ',' || p_key, 'UTF8')), 'hex'), 32)
                         placing '8' from 13) placing 'a' from 17)::uuid
$$;
