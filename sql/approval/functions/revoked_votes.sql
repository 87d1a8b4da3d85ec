-- promise: the votes that approved a request and do not count any more, because the key that signed them was revoked before the approval was
--          used; null when there are none. Once it is used, its votes stand as they were.
create or replace function approval.revoked_votes(p_approval_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_agg(jsonb_build_object('vote_id', v.vote_id, 'voter', v.voter, 'key_id', v.key_id, 'revoked_at', internal.micros(k.revoked_at)) order by v.voter)
    from (select distinct on (n.voter) n.vote_id, n.voter, n.decision, n.key_id
            from approval.approval_vote n where n.approval_id = p_approval_id order by n.voter, n.vote_seq desc) v
    join identity.signing_key k on k.key_id = v.key_id
   where v.decision = 'approve' and k.revoked_at is not null
     and not exists (select from approval.approval_use u where u.approval_id = p_approval_id)
$$;
