create or replace view queue.v_queue_depth with (security_barrier) as
select q.executor_class, q.state, count(*) as jobs, min(q.scheduled_at) as oldest_scheduled_at, min(q.lease_until) as next_lease_end
  from queue.job_queue q group by q.executor_class, q.state;
comment on view queue.v_queue_depth is 'How many live jobs of each class stand in which state.';
