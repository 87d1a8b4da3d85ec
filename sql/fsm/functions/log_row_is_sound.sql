-- owner: chancery_owner
-- promise: what every row of the log is like: numbered from one, chained to the row before, with a digest that is one, and a signature only
--          with its key. A constraint is made of it, as of fsm.run_is_sound.
create or replace function fsm.log_row_is_sound(
  p_seq bigint, p_prev_hash bytea, p_artefact_digest bytea, p_key_id uuid, p_signature bytea
) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  return p_seq >= 1 and (p_prev_hash is null) = (p_seq = 1) and (p_key_id is null) = (p_signature is null)
     and (p_artefact_digest is null or octet_length(p_artefact_digest) = 32);
end
$$;
