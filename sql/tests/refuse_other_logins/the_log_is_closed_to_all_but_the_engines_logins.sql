-- claim: a superuser, the owner and the role of the doors are refused with the log's own code, whether or not a row would be written.
do $claim$
declare
  v_role text;
  v_detail text;
begin
  foreach v_role in array array['none', 'chancery_owner', 'chancery_definer'] loop
    perform set_config('role', v_role, true);
    perform t.refused('RS016', $$insert into fsm.transition_log (run_id, seq, log_id) values (gen_random_uuid(), 1, gen_random_uuid())$$);
    perform t.refused('RS016', $$insert into fsm.transition_log (run_id) select gen_random_uuid() where false$$);
  end loop;
  perform set_config('role', 'none', true);
  begin
    insert into fsm.transition_log (run_id) values (gen_random_uuid());
  exception when sqlstate 'RS016' then
    get stacked diagnostics v_detail = pg_exception_detail;
  end;
  perform t.equal((v_detail::jsonb -> 'problems' -> 0)::text, jsonb_build_object(
    'table', 'fsm.transition_log', 'operation', 'insert', 'login', session_user, 'code', 'RS016', 'problem', 'append_only')::text);
end
$claim$;
