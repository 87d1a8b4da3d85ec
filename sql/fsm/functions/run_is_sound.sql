-- owner: chancery_owner
-- promise: what a run of a custom machine is like in every state: born with a hash, data that is an object, a W3C trace id. A constraint is
--          made of it: what it says of a row never changes.
-- Why a function: PostgreSQL reads the text of every constraint anew in each statement, and one call is the shortest there is. Why no
-- regular expression: see internal.canonical_evidence.
create or replace function fsm.run_is_sound(p_seq bigint, p_head_hash bytea, p_data jsonb, p_trace_id text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return (p_head_hash is null) = (p_seq = 0) and jsonb_typeof(p_data) = 'object'
     and octet_length(p_trace_id) = 32 and translate(p_trace_id, '0123456789abcdef', '') = '' and p_trace_id <> '00000000000000000000000000000000';
end
$$;
