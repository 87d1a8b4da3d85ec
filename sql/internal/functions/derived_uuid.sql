-- promise: the id of a part of something that has an id: a UUID version 8 whose first six bytes are the whole's (so that parts
--          lie together in an index) and whose rest is from SHA-256 over both names. Rust makes the same id, so a signer knows
--          it before the row exists.
create or replace function internal.derived_uuid(p_whole uuid, p_part text) returns uuid
language sql stable
as $$
  -- One expression, so that the planner can inline it: version nibble 8, then two bits of the digest behind the variant.
  select overlay(overlay(
           left(replace(p_whole::text, '-', ''), 12)
           || substr(encode(sha256(convert_to('chancery.id.v1,' || p_whole::text || ',' || p_part, 'UTF8')), 'hex'), 13, 20)
         placing '8' from 13)
         placing substr('89ab', 1 + (get_byte(sha256(convert_to('chancery.id.v1,' || p_whole::text || ',' || p_part, 'UTF8')), 8) >> 4) % 4, 1)
           from 17)::uuid
$$;
