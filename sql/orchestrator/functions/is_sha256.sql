-- promise: whether a text is a SHA-256 digest in lower-case hex.
create or replace function orchestrator.is_sha256(p_text text) returns boolean
language sql immutable
as $$ select coalesce(p_text ~ '^[0-9a-f]{64}$', false) $$;
