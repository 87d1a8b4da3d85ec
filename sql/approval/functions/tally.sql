-- promise: how the newest votes of a request stand against its quorum. Until the approval is used, an approving vote counts as long as the
--          key that signed it is not revoked; a rejecting one counts in any case.
create or replace function approval.tally(p_approval_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
           'sovereigns', count(*) filter (where v.decision = 'approve' and v.stands and v.counted_as = 'sovereign'),
           'reviewers', count(*) filter (where v.decision = 'approve' and v.stands and v.counted_as = 'reviewer'),
           'approvals', count(*) filter (where v.decision = 'approve' and v.stands),
           'rejects', count(*) filter (where v.decision = 'reject'))
    from (select distinct on (n.voter) n.decision, n.counted_as,
                 k.revoked_at is null or exists (select from approval.approval_use u where u.approval_id = p_approval_id) as stands
            from approval.approval_vote n left join identity.signing_key k on k.key_id = n.key_id
           where n.approval_id = p_approval_id order by n.voter, n.vote_seq desc) v
$$;
