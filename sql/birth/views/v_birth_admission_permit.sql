create or replace view birth.v_birth_admission_permit with (security_barrier) as
select p.permit_id, p.collection_name, p.entity_code, p.request_hash, p.batch_id, p.status, p.facet, p.seq, p.head_hash, p.state_machine_id, p.entity_name,
       p.species_code, p.governance_role, p.payload_digest, p.requested_by_dot, p.approval_id, p.started_by, p.requested_at, p.expires_at, p.consumed_at,
       p.consumed_by::text as consumed_by, p.finalized_birth_id, p.trace_id, p.correlation_id, p.last_transition_at, p.live, p.consumed_xid,
       case when p.status in ('FAILED', 'REVOKED') then (
         select coalesce(l.evidence::jsonb ->> 'failure_reason', l.evidence::jsonb ->> 'reason')
           from fsm.transition_log l where l.run_id = p.permit_id and l.seq = p.seq) end as failure_reason
  from birth.birth_admission_permit p;
comment on view birth.v_birth_admission_permit is 'Every permit.';
