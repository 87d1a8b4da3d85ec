create or replace view governance.v_iu_usage_evidence with (security_barrier) as
select t.evidence_id, t.proposal_id, t.iu_id, t.evidence_kind, t.facts, t.recorded_at, t.row_digest, t.digest_version
  from governance.iu_usage_evidence t;
comment on view governance.v_iu_usage_evidence is 'Raw columns, nothing rendered: for those who work with the row and for the audit.';
