-- promise: the kind of approval that a sovereign gate asks for.
create or replace function orchestrator.approval_kind(p_gate text) returns text
language sql immutable
as $$
  select case p_gate when 'SG_cut_authz' then 'cut_authorization' when 'SG_lifecycle_authz' then 'lifecycle_authorization'
                     when 'SG_resume_stopped' then 'resume_stopped' when 'SG_drift_ack' then 'drift_ack' end
$$;
