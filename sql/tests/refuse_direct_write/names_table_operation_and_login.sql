-- claim: the refusal says which table, which operation and who asked.
do $claim$
declare
  v_detail jsonb;
begin
  begin
    update config.dot_config set description = 'another';
  exception when sqlstate 'RS015' then
    declare
      v_text text;
    begin
      get stacked diagnostics v_text = pg_exception_detail;
      v_detail := v_text::jsonb -> 'problems' -> 0;
    end;
  end;
  perform t.equal((v_detail - 'login')::text,
    jsonb_build_object('table', 'config.dot_config', 'operation', 'update', 'code', 'RS015', 'problem', 'direct_write_refused')::text);
  perform t.equal(v_detail ->> 'login', session_user);
end
$claim$;
