-- promise: whether a person froze the class.
create or replace function queue.is_frozen(p_worker_class text) returns boolean
language sql stable
as $$ select exists (select from queue.heartbeat_class c where c.worker_class = p_worker_class and c.frozen) $$;
