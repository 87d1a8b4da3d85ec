create or replace view audit.v_drift_acknowledgement with (security_barrier) as
select t.acknowledgement_id, t.object, t.found, t.reason, t.acknowledged_by, t.login_role, t.acknowledged_at, t.expires_at,
       t.expires_at > internal.now() as holds
  from audit.drift_acknowledgement t;
comment on view audit.v_drift_acknowledgement is 'Differences between the database and its release that an operator answers for, and until when.';
