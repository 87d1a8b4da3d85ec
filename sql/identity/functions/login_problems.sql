-- promise: the problem of a login that may not act for a class; an empty array when it may.
create or replace function identity.login_problems(p_actor_class text) returns jsonb
language plpgsql stable
as $$
begin
  if exists (select from identity.login_actor_class l where l.login_role = session_user and l.actor_class = p_actor_class) then
    return '[]';
  end if;
  return internal.problem('RI004', jsonb_build_object('login', session_user, 'actor_class', p_actor_class));
end
$$;
