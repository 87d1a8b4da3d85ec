-- promise: what a password of this name is to be hashed with. A name that nobody has gets a salt too, always the same: asking tells nothing.
-- callers: chancery_app
create or replace function identity.fn_sign_in_salt(p_name text) returns jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (select jsonb_build_object('salt', encode(c.salt, 'hex'), 'memory_kib', c.memory_kib, 'passes', c.passes, 'lanes', c.lanes)
       from identity.credential c where c.principal = p_name),
    (select jsonb_build_object('salt', encode(substr(sha256(d.salt || convert_to(coalesce(p_name, ''), 'UTF8')), 1, 16), 'hex'),
                               'memory_kib', 19456, 'passes', 2, 'lanes', 1)
       from identity.decoy d))
$$;
