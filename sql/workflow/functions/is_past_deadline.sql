-- promise: whether work in a state is past its deadline at a time: its turn has come, it is not over, and the deadline lies behind. That it was
--          late once is another thing (overdue_first_at).
-- callers: the roll-up, the inbox, views. Without a clock of its own, so that the planner writes it into what asks.
create or replace function workflow.is_past_deadline(p_state text, p_deadline timestamptz, p_at timestamptz) returns boolean
language sql immutable
as $$
  select coalesce(p_deadline <= p_at and p_state in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue', 'failed'), false)
$$;
