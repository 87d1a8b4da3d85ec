-- claim: nobody writes evidence by hand: no superuser, no owner, not even the role of the doors where it is history.
set local session authorization chancery_app;
select fsm.fn_run_start('00000000-0000-0000-0000-00000000c1a1', 'parcel', '{"address": "here"}', 'executor_worker', 'rpc', 'parcel_open', '{}', 'worker', 'k');
reset session authorization;
do $claim$
declare
  v_role text;
begin
  foreach v_role in array array['none', 'chancery_owner', 'chancery_definer'] loop
    perform set_config('role', v_role, true);
    -- What a role may not even try (42501) is refused before the trigger is asked.
    if v_role <> 'chancery_definer' then
      perform t.refused('RS016', $$update fsm.transition_log set reason = 'another'$$);
      perform t.refused('RS016', $$delete from fsm.transition_log$$);
      perform t.refused('RS016', $$truncate fsm.transition_log$$);
      perform t.refused(case v_role when 'none' then 'RS015' else 'RS016' end,
        $$insert into identity.identity_log (at, login_role, action, principal, facts) values (now(), 'x', 'x', 'worker', '{}')$$);
      perform t.refused('RS015', $$update fsm.run set data = '{}'$$);
      perform t.refused('RS015', $$delete from fsm.run$$);
    else
      perform t.refused('42501', $$update fsm.transition_log set reason = 'another'$$);
      perform t.refused('42501', $$delete from fsm.run$$);
    end if;
  end loop;
  perform set_config('role', 'none', true);
end
$claim$;
