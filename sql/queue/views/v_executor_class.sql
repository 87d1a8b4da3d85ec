create or replace view queue.v_executor_class with (security_barrier) as
select c.executor_class, c.active, c.lease_seconds, c.max_payload_bytes, c.description, p.policy, p.max_attempts, p.base_delay_ms, p.factor, p.max_delay_ms, p.jitter
  from queue.executor_class_registry c join queue.retry_policy_registry p using (policy);
comment on view queue.v_executor_class is 'Executor classes with their retry policies.';
