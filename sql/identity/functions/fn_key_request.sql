-- promise: a public key that a person made, and that signed to be theirs, waits for the operator. Repeating it changes nothing.
-- callers: chancery_app, for who is signed in
-- refuses with: RI001, RI007 somebody has this key, or asked for it, RI012 not 32 bytes, RI052 no usable key, RI053 not signed by it
create or replace function identity.fn_key_request(p_request_id uuid, p_principal text, p_public_key bytea, p_possession bytea) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_known record;
  v_problems jsonb := identity.possession_problems(p_principal, p_public_key, p_possession);
begin
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  elsif not exists (select from identity.principal p where p.name = p_principal) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif exists (select from identity.signing_key k where k.public_key = p_public_key) then
    perform internal.refuse(internal.problem('RI007', jsonb_build_object('principal', p_principal)));
  end if;
  insert into identity.key_request (request_id, principal, public_key, requested_at, possession)
  values (p_request_id, p_principal, p_public_key, internal.now(), p_possession) on conflict do nothing;
  if not found then
    select r.request_id, r.principal, r.public_key into v_known from identity.key_request r
     where r.public_key = p_public_key or r.request_id = p_request_id order by (r.public_key = p_public_key) desc limit 1;
    if v_known.principal <> p_principal or v_known.public_key <> p_public_key then
      perform internal.refuse(internal.problem('RI007', jsonb_build_object('principal', p_principal)));
    end if;
  end if;
  return (select to_jsonb(v) from identity.v_key_request v where v.public_key = encode(p_public_key, 'hex'));
end
$$;
