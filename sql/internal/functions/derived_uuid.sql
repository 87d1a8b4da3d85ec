-- promise: the id of a part of something that has an id: a UUID version 8 whose first six bytes are the whole's (so that parts
--          lie together in an index) and whose rest is from SHA-256 over both names. Rust makes the same id, so a signer knows
--          it before the row exists.
create or replace function internal.derived_uuid(p_whole uuid, p_part text) returns uuid
language sql immutable
as $$
  select encode(
    set_byte(set_byte(b, 6, (get_byte(b, 6) & 15) | 128), 8, (get_byte(b, 8) & 63) | 128), 'hex')::uuid
    from (select overlay(substring(sha256(convert_to('chancery.id.v1,' || p_whole || ',' || p_part, 'UTF8')) from 1 for 16)
                         placing substring(uuid_send(p_whole) from 1 for 6) from 1 for 6) as b) digest
$$;
