-- promise: what the ways that lead to a step say: wait, come (it is its turn) or skip (no way leads here any more).
create or replace function workflow.way_here(p_step workflow.step_run, p_joins_and integer, p_joins_or integer, p_joins_plain integer) returns text
language sql immutable
as $$
  select case
    when p_step.and_missed then 'skip'
    when p_joins_or > 0 and p_step.or_open = 0 and not p_step.or_taken then 'skip'
    when p_joins_and = 0 and p_joins_or = 0 and p_joins_plain > 0 and p_step.plain_open = 0 and not p_step.plain_taken then 'skip'
    when p_step.and_open = 0 and (p_joins_or = 0 or p_step.or_taken) and p_step.plain_open = 0 then 'come'
    else 'wait' end
$$;
