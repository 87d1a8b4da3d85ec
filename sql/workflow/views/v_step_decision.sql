create or replace view workflow.v_step_decision with (security_barrier) as
select t.decision_id, t.run_kind, t.run_id, t.decision_kind, t.facts, t.principal, t.actor_class, t.approval_id, t.idempotency_key, t.decided_at,
       t.row_digest, t.digest_version
  from workflow.step_decision t;
comment on view workflow.v_step_decision is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
