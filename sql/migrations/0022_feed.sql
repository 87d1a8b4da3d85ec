-- Locks approval.approval_request and approval.approval_vote for the moment in which the indexes are made.
-- The feed asks every half second which requests and votes are new.
create index approval_request_requested_idx on approval.approval_request (requested_at);
create index approval_vote_voted_idx on approval.approval_vote (voted_at);
