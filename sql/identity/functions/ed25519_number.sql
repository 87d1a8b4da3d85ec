-- promise: the number that the bytes are, the least significant first.
-- callers: identity.ed25519_point, identity.verify_ed25519
create or replace function identity.ed25519_number(p_bytes bytea) returns numeric
language plpgsql immutable parallel safe
as $$
declare
  v_number numeric := 0;
begin
  for i in reverse octet_length(p_bytes) - 4 .. 0 by 4 loop
    v_number := v_number * 4294967296 + (get_byte(p_bytes, i) + (get_byte(p_bytes, i + 1) << 8) + (get_byte(p_bytes, i + 2) << 16)
                                         + (get_byte(p_bytes, i + 3)::bigint << 24));
  end loop;
  return v_number;
end
$$;
