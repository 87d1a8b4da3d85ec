-- promise: whether the reader may freeze and thaw classes of workers, and in which class they would act, with what stands against it. It is the
--          same for every class of workers. Changes nothing.
-- callers: chancery_app, for pages that show what can be done
create or replace function queue.fn_freeze_actions(p_reader text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_class text := governance.acting_class(p_reader, queue.freezing_classes());
  v_principal record;
  v_problems jsonb;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_reader;
  v_problems := identity.actor_problems(p_reader, v_principal.kind, v_principal.active, v_principal.actor_classes, v_class, null, null);
  if not identity.permits(p_reader, 'problems.settle') then
    v_problems := v_problems || internal.problem('RI040', jsonb_build_object('principal', p_reader, 'permission', 'problems.settle'));
  end if;
  return (
    select jsonb_agg(jsonb_build_object(
             'name', a.name, 'label', a.name, 'to', a.leads, 'actor_class', coalesce(v_class, ''), 'allowed', v_problems = '[]', 'problems', v_problems,
             'needs', '["reason"]'::jsonb) order by a.name)
      from (values ('freeze', 'frozen'), ('thaw', 'thawed')) a (name, leads));
end
$$;
