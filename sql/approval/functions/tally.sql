-- promise: how the newest votes of a request stand against its quorum.
create or replace function approval.tally(p_approval_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
           'sovereigns', count(*) filter (where v.decision = 'approve' and v.counted_as = 'sovereign'),
           'reviewers', count(*) filter (where v.decision = 'approve' and v.counted_as = 'reviewer'),
           'approvals', count(*) filter (where v.decision = 'approve'),
           'rejects', count(*) filter (where v.decision = 'reject'))
    from (select distinct on (v.voter) v.decision, v.counted_as
            from approval.approval_vote v where v.approval_id = p_approval_id order by v.voter, v.vote_seq desc) v
$$;
