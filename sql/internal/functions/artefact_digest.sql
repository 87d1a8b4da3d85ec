-- promise: one digest for all rows that a move wrote: SHA-256 over their digests in ascending order.
create or replace function internal.artefact_digest(p_row_digests bytea[]) returns bytea
language sql immutable
as $$ select sha256(coalesce(string_agg(d, ''::bytea order by d), ''::bytea)) from unnest(p_row_digests) d $$;
