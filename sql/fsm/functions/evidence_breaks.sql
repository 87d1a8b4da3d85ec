-- promise: where the evidence of a move breaks what its transition declares, by JSON pointer; an empty array when it does not. Evidence that is
--          asked for says something: a declared text that is blank is none, whichever call it comes by.
-- callers: fsm.evaluate, fsm.short_way
create or replace function fsm.evidence_breaks(p_schema jsonb, p_evidence jsonb) returns jsonb
language sql immutable
as $$ select event.value_problems(p_schema, p_evidence) || fsm.blank_members(p_schema, p_evidence) $$;
