-- promise: where a document of a run stands in the knowledge base.
create or replace function orchestrator.document_path(p_run_name text, p_name text) returns text
language sql immutable
as $$
  select 'orchestrator/' || lower(p_run_name) || '/' || case p_name
    when 'IG_source_pin' then '01-source-pin'
    when 'IG_mark' then '02-mark'
    when 'IG_cutplan' then '03-cutplan'
    when 'IG_backup' then '04-pre-write-backup'
    when 'IG_grant_probe' then '05-grant-probe'
    when 'SG_cut_authz_request' then 'sg1-cut-authz-request'
    when 'SG_cut_authz_received' then '06-cut-leg-a'
    when 'IG_structural_verify' then '07-structural-verify'
    when 'IG_leg_b_record' then '08-leg-b-record'
    when 'IG_write_verify' then '09-write-verify'
    when 'SG_lifecycle_authz_request' then 'sg2-lifecycle-authz-request'
    when 'SG_lifecycle_authz_received' then '10-lifecycle-enact'
    when 'IG_closeout' then '11-final-orchestrator-report'
    else p_name end
$$;
