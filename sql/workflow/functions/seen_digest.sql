-- promise: what tells a definition as a reader sees it from every other: its own digest when all of it is seen.
create or replace function workflow.seen_digest(p_definition_sha256 bytea, p_hidden text[]) returns bytea
language sql immutable
as $$ select case when cardinality(p_hidden) = 0 then p_definition_sha256 else sha256(p_definition_sha256 || convert_to(array_to_string(p_hidden, ','), 'UTF8')) end $$;
