-- promise: raises a refusal. The SQLSTATE is the first problem's code; DETAIL holds every problem with its facts as JSON;
--          HINT says what to do. Clients read these fields and never the message text.
create or replace function internal.refuse(p_problems jsonb) returns void
language plpgsql
as $$
declare
  v_code text := p_problems -> 0 ->> 'code';
  v_title text;
  v_hint text;
begin
  select r.title, r.hint into strict v_title, v_hint from config.refusal r where r.code = v_code;
  raise exception using
    errcode = v_code,
    message = v_title,
    detail = jsonb_build_object('problems', p_problems)::text,
    hint = v_hint;
end
$$;
