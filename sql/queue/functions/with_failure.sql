-- promise: a job's failures with one more, the newest ones kept.
create or replace function queue.with_failure(p_failures jsonb, p_attempt integer, p_lease_owner text, p_classification text, p_reason text, p_at timestamptz, p_kept integer)
returns jsonb
language sql stable
as $$
  select case when jsonb_array_length(p_failures) >= p_kept then p_failures - 0 else p_failures end
         || jsonb_build_array(jsonb_build_object('attempt', p_attempt, 'worker', p_lease_owner, 'classification', p_classification, 'reason', left(p_reason, 2000),
              'at', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
$$;
