-- promise: who signs holds the class behind this login, with a live key of its own, now.
-- refuses with: RI001–RI008, RC010
create or replace function identity.require_signer(p_principal text, p_actor_class text, p_key_id uuid, p_signed_at bigint, p_signature bytea) returns void
language plpgsql stable
as $$
declare
  v_principal record;
  v_problems jsonb;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  v_problems := identity.actor_problems(p_principal, v_principal.kind, v_principal.active, v_principal.actor_classes, p_actor_class,
                                        p_key_id, p_signature is not null);
  -- A lane is signed by whoever acts in it, services too.
  if v_problems = '[]' and p_key_id is null then
    v_problems := internal.problem('RI008', jsonb_build_object('principal', p_principal, 'kind', v_principal.kind));
  end if;
  if v_problems = '[]' then
    v_problems := coalesce(identity.signed_time_problem(p_signed_at), '[]');
  end if;
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
end
$$;
