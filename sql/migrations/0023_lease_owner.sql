-- Who holds a lease is its principal and its worker; these functions take the two as one now. A parameter's name can't be replaced.
drop function if exists queue.require_worker(text, text, integer);
drop function if exists queue.ack(text, uuid[], integer[], text[], jsonb[]);
drop function if exists queue.ack_rest(text, uuid[], integer[], text[], jsonb[], integer, integer, timestamptz);
drop function if exists queue.settle_failures(text, uuid[], integer[], text[], jsonb[], timestamptz);
drop function if exists queue.is_repetition(uuid, integer, text, text);
