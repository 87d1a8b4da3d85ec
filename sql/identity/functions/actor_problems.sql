-- promise: what is wrong with who asks: unknown, inactive, without the class, behind a login that may not act for it, or with a
--          key that is not theirs, revoked or missing; an empty array when nothing is.
create or replace function identity.actor_problems(
  p_principal text, p_kind text, p_active boolean, p_classes text[], p_actor_class text, p_key_id uuid, p_signed boolean
) returns jsonb
language plpgsql stable
as $$
declare
  v_problems jsonb := '[]';
begin
  if p_kind is null then
    v_problems := internal.problem('RI001', jsonb_build_object('principal', p_principal));
  else
    if not p_active then
      v_problems := v_problems || internal.problem('RI002', jsonb_build_object('principal', p_principal));
    end if;
    if p_actor_class is null or p_actor_class <> all (p_classes) then
      v_problems := v_problems || internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class));
    end if;
  end if;
  if not exists (select from identity.login_actor_class l where l.login_role = session_user and l.actor_class = p_actor_class) then
    v_problems := v_problems || internal.problem('RI004', jsonb_build_object('login', session_user, 'actor_class', p_actor_class));
  end if;
  if p_kind is not null then
    v_problems := v_problems || identity.key_problems(p_principal, p_kind, p_key_id, p_signed);
  end if;
  return v_problems;
end
$$;
