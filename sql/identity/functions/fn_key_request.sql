-- promise: a public key that a person made, and that signed to be theirs, waits for the operator; or it takes the place of a live key of theirs, which
--          signed that too: then it is theirs at once, and the old one is revoked. Repeating it changes nothing.
-- callers: chancery_app, for who is signed in
-- locks: the old key, where there is one; then see identity.register_key
-- refuses with: RI001, RI005 the old key is not this principal's, RI006 it was revoked, RI007 somebody has this key, or asked for it, RI012 not 32 bytes,
--               RI051 the old key did not sign this, RI052 no usable key, RI053 not signed by it
create or replace function identity.fn_key_request(
  p_request_id uuid, p_principal text, p_public_key bytea, p_possession bytea, p_old_key_id uuid default null, p_old_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_known record;
  v_problems jsonb := identity.possession_problems(p_principal, p_public_key, p_possession);
  v_replaces constant boolean := p_old_key_id is not null or p_old_signature is not null;
begin
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  elsif not exists (select from identity.principal p where p.name = p_principal) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  end if;
  if v_replaces then
    if not identity.was_replaced(p_principal, p_public_key, p_old_key_id) then
      v_problems := identity.replacement_problems(p_principal, p_public_key, p_old_key_id, p_old_signature);
      if v_problems <> '[]' then
        perform internal.refuse(v_problems);
      end if;
      -- Of two replacements of one key the second finds it revoked.
      perform from identity.signing_key k where k.key_id = p_old_key_id and k.revoked_at is null for no key update;
    end if;
    if identity.was_replaced(p_principal, p_public_key, p_old_key_id) then
      return (select to_jsonb(v) from identity.v_key_request v where v.public_key = encode(p_public_key, 'hex'));
    end if;
    v_problems := identity.replacement_problems(p_principal, p_public_key, p_old_key_id, p_old_signature);
    if v_problems <> '[]' then
      perform internal.refuse(v_problems);
    end if;
  end if;
  if exists (select from identity.signing_key k where k.public_key = p_public_key) then
    perform internal.refuse(internal.problem('RI007', jsonb_build_object('principal', p_principal)));
  end if;
  insert into identity.key_request (request_id, principal, public_key, requested_at, possession, old_key_id, old_signature, outcome, settled_at)
  values (p_request_id, p_principal, p_public_key, internal.now(), p_possession, p_old_key_id, p_old_signature, case when v_replaces then 'accepted' end,
          case when v_replaces then internal.now() end)
  on conflict do nothing;
  if not found then
    select r.request_id, r.principal, r.public_key into v_known from identity.key_request r
     where r.public_key = p_public_key or r.request_id = p_request_id order by (r.public_key = p_public_key) desc limit 1;
    if v_known.principal <> p_principal or v_known.public_key <> p_public_key or v_replaces then
      perform internal.refuse(internal.problem('RI007', jsonb_build_object('principal', p_principal)));
    end if;
  elsif v_replaces then
    perform identity.register_key(p_request_id, p_principal, p_public_key, p_old_key_id, p_principal);
  end if;
  return (select to_jsonb(v) from identity.v_key_request v where v.public_key = encode(p_public_key, 'hex'));
end
$$;
