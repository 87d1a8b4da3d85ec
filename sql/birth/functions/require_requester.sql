-- promise: who asks for permits may: active, of this class, behind a login that acts for it, and a person or agent with a signature
--          under each request. (The signature is over the move; whoever uses it checks it, as of every move.)
-- callers: birth.fn_birth_permit_request
-- refuses with: RI001–RI008
create or replace function birth.require_requester(p_principal text, p_actor_class text, p_key_id uuid, p_asks birth.permit_ask[]) returns void
language plpgsql stable
as $$
declare
  v_principal record;
  v_problems jsonb;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  v_problems := identity.actor_problems(
    p_principal, v_principal.kind, v_principal.active, v_principal.actor_classes, p_actor_class, p_key_id,
    -- Nothing asked for is nothing signed, and is refused for what it is.
    cardinality(p_asks) > 0 and not exists (select from unnest(p_asks) a where a.signature is null));
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
end
$$;
