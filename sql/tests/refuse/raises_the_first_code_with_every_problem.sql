-- claim: the SQLSTATE is the first problem's, DETAIL has them all, and the words are those of the registry.
do $claim$
declare
  v_problems constant jsonb := internal.problem('RS007', '{"transition": "pack"}') || internal.problem('RI003', '{"principal": "worker"}');
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  begin
    perform internal.refuse(v_problems);
  exception when others then
    get stacked diagnostics v_state = returned_sqlstate, v_message = message_text, v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  end;
  perform t.equal(v_state, 'RS007');
  perform t.equal(v_detail::jsonb::text, jsonb_build_object('problems', v_problems)::text);
  perform t.equal(v_message, r.title), t.equal(v_hint, r.hint) from config.refusal r where r.code = 'RS007';
end
$claim$;
