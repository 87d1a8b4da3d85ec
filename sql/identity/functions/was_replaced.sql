-- promise: whether this key took the place of that one, by the word of both.
-- callers: identity.fn_key_request
create or replace function identity.was_replaced(p_principal text, p_public_key bytea, p_old_key_id uuid) returns boolean
language sql stable
as $$
  select exists (select from identity.key_request r
                  where r.principal = p_principal and r.public_key = p_public_key and r.old_key_id = p_old_key_id and r.outcome = 'accepted')
$$;
