-- promise: whether every invariant of a gate is true. A gate without invariants does not hold.
create or replace function orchestrator.holds(p_invariants jsonb) returns boolean
language sql immutable
as $$ select coalesce(p_invariants <> '{}' and not exists (select from jsonb_each(p_invariants) i where i.value <> 'true'), false) $$;
