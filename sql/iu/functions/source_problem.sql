-- promise: what keeps bytes from being a source text, as facts; null when nothing does.
create or replace function iu.source_problem(p_body bytea) returns jsonb
language plpgsql stable
as $$
declare
  v_limit constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'iu.source.max_bytes');
begin
  if coalesce(octet_length(p_body), 0) = 0 then
    return '{"reason": "empty"}';
  end if;
  if octet_length(p_body) > v_limit then
    return jsonb_build_object('reason', 'too_long', 'bytes', octet_length(p_body), 'max_bytes', v_limit);
  end if;
  if position(decode('00', 'hex') in p_body) > 0 then
    return jsonb_build_object('reason', 'nul_character', 'offset', position(decode('00', 'hex') in p_body) - 1);
  end if;
  begin
    perform convert_from(p_body, 'UTF8');
  exception when character_not_in_repertoire or untranslatable_character then
    return '{"reason": "not_utf8"}';
  end;
  return null;
end
$$;
