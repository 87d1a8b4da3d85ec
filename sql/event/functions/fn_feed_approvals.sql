-- promise: requests for approval and votes of the last while, the newest first: [{approval_id, vote_id}]; at most a thousand. They are no
--          moves, so they have no event and no position: the feed tells that something changed. Whoever asks looks back further than to
--          its last question, since a request has its time a moment before it is committed.
-- callers: chancery_app
create or replace function event.fn_feed_approvals(p_back interval) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  -- A constant, so that the index is used: the clock is another one in every row.
  v_since constant timestamptz := internal.now() - p_back;
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('approval_id', n.approval_id, 'vote_id', n.vote_id) order by n.at desc, n.approval_id), '[]')
      from (select r.approval_id, null::uuid as vote_id, r.requested_at as at from approval.approval_request r where r.requested_at > v_since
            union all
            select v.approval_id, v.vote_id, v.voted_at from approval.approval_vote v where v.voted_at > v_since
             order by 3 desc, 1 limit 1000) n);
end
$$;
