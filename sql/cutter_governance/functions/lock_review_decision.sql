-- promise: no decision on the entry is made or superseded until the transaction ends.
-- locks: the entry's decisions (update), in the order of their ids
create or replace function cutter_governance.lock_review_decision(p_run_kind text, p_run_id uuid) returns void
language plpgsql
as $$
begin
  if p_run_kind = 'cut_request' then
    perform from cutter_governance.review_decision d where d.entry_id = p_run_id order by d.review_decision_id for update;
  end if;
end
$$;
