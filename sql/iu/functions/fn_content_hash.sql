-- promise: the hash of a unit's text: SHA-256 of its UTF-8 bytes, in hex.
-- callers: whoever may read units
create or replace function iu.fn_content_hash(p_body text) returns text
language sql immutable
as $$ select encode(sha256(convert_to(p_body, 'UTF8')), 'hex') $$;
