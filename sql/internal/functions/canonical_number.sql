-- promise: a JSON number as RFC 8785 writes it: the shortest form of the IEEE double, as ECMAScript prints it.
create or replace function internal.canonical_number(p_number numeric) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_text text;
  v_sign text;
  v_digits text;
  v_exponent int;
  v_parts text[];
begin
  if p_number = trunc(p_number) and abs(p_number) <= 9007199254740992 then
    return trunc(p_number)::text;
  end if;
  if abs(p_number) > 1.7976931348623157e308 or (p_number <> 0 and abs(p_number) < 2.2250738585072014e-308) then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('expected', 'numbers that fit an IEEE double')));
  end if;
  -- float8 output is the shortest text that reads back as the same double; only its layout differs from ECMAScript's.
  v_text := p_number::float8::text;
  v_sign := case when v_text like '-%' then '-' else '' end;
  v_parts := regexp_match(ltrim(v_text, '-'), '^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$');
  v_digits := v_parts[1] || coalesce(v_parts[2], '');
  v_exponent := coalesce(v_parts[3], '0')::int + length(v_parts[1]);
  v_exponent := v_exponent - (length(v_digits) - length(ltrim(v_digits, '0')));
  v_digits := rtrim(ltrim(v_digits, '0'), '0');
  if v_digits = '' then
    return '0';
  elsif v_exponent between length(v_digits) and 21 then
    return v_sign || rpad(v_digits, v_exponent, '0');
  elsif v_exponent between 1 and 21 then
    return v_sign || left(v_digits, v_exponent) || '.' || substr(v_digits, v_exponent + 1);
  elsif v_exponent between -5 and 0 then
    return v_sign || '0.' || repeat('0', -v_exponent) || v_digits;
  end if;
  return v_sign || left(v_digits, 1)
    || case when length(v_digits) > 1 then '.' || substr(v_digits, 2) else '' end
    || 'e' || case when v_exponent > 0 then '+' else '-' end || abs(v_exponent - 1);
end
$$;
