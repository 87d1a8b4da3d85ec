-- promise: the digest of the row that says what an approval was used for.
create or replace function orchestrator.approval_digest(p_evidence jsonb) returns bytea
language sql stable
as $$ select u.row_digest from approval.approval_use u where u.approval_id = internal.uuid_or_null(p_evidence ->> 'approval_id') $$;
