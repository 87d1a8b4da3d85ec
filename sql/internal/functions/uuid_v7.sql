-- promise: a UUID version 7 of the database's time: keys that grow keep index pages and write-ahead log small.
create or replace function internal.uuid_v7() returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
              placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;
