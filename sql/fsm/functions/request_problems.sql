-- promise: what is wrong with a request before any run is looked at; null when nothing is.
create or replace function fsm.request_problems(p_run_kind text, p_evidence jsonb, p_idempotency_key text, p_principal text) returns jsonb
language plpgsql stable
as $$
begin
  if internal.is_blank(p_idempotency_key) or length(p_idempotency_key) > 200 then
    return internal.problem('RS013', jsonb_build_object('max_length', 200));
  end if;
  if p_evidence is null or jsonb_typeof(p_evidence) <> 'object' then
    return internal.problem('RS014', jsonb_build_object('expected', 'object', 'given', coalesce(jsonb_typeof(p_evidence), 'nothing')));
  end if;
  if p_evidence ? 'event' and jsonb_typeof(p_evidence -> 'event') <> 'object' then
    return internal.problem('RS014', jsonb_build_object('member', 'event', 'expected', 'object', 'given', jsonb_typeof(p_evidence -> 'event')));
  end if;
  if octet_length(p_evidence::text) >
     (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'fsm.evidence.max_bytes') then
    return internal.problem('RS014', jsonb_build_object('expected', 'small evidence', 'given_bytes', octet_length(p_evidence::text)));
  end if;
  -- What canonical bytes cannot say, and what other readers would stop at, is refused here, where a preview sees it too.
  if jsonb_path_exists(p_evidence, 'strict $.**{65}') then
    return internal.problem('RS014', jsonb_build_object('expected', 'at most 64 levels'));
  end if;
  if jsonb_path_exists(p_evidence, 'strict $.** ? (@.type() == "number" && (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308
       || (@ != 0 && @ < 2.4703282292062328e-324 && @ > -2.4703282292062328e-324)))') then
    return internal.problem('RS014', jsonb_build_object('expected', 'numbers that fit an IEEE double'));
  end if;
  if not fsm.is_run_kind(p_run_kind) then
    return internal.problem('RS002', jsonb_build_object('run_kind', p_run_kind));
  end if;
  if p_principal is null then
    return internal.problem('RI001', '{"principal": null}');
  end if;
  return null;
end
$$;
