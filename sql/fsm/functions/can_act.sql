-- promise: whether anybody can ever move a run of this kind in this class: a login acts for the class, and where the kind has no room, that login
--          may begin and move its runs. A transition of any other class would stand there for nobody.
-- callers: fsm.assert_sound; chancery_model::machine::ActorClass::can_act says the same without a database
create or replace function fsm.can_act(p_actor_class text, p_scope text) returns boolean
language sql stable
as $$
  select exists (
    select from identity.login_actor_class l
     where l.actor_class = p_actor_class
       and (p_scope <> 'custom'
            or has_function_privilege(l.login_role, 'fsm.fn_run_start(uuid,text,jsonb,text,text,text,jsonb,text,text,text,uuid,text,text,uuid,bytea)', 'execute')))
$$;
