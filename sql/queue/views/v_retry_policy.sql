create or replace view queue.v_retry_policy with (security_barrier) as
select p.policy, p.max_attempts, p.base_delay_ms, p.factor, p.max_delay_ms, p.jitter, p.description from queue.retry_policy_registry p;
comment on view queue.v_retry_policy is 'Retry policies, also those that no class has.';
