create or replace view queue.v_logged_job with (security_barrier) as
select q.job_id, q.state, q.facet, q.seq, q.head_hash, internal.micros(q.last_transition_at) as last_transition_at from queue.job_queue q where q.seq > 0;
comment on view queue.v_logged_job is 'Jobs that the log knows, for the audit.';
