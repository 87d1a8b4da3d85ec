-- promise: a JSON number as RFC 8785 writes it: the shortest form of the IEEE double, as ECMAScript prints it.
create or replace function internal.canonical_number(p_number numeric) returns text
-- A session may ask for fewer digits; what is stored and signed does not follow it.
language plpgsql immutable parallel safe set extra_float_digits = 1
as $$
declare
  v_text text;
  v_sign text;
  v_digits text;
  v_exponent int;
  v_parts text[];
  v_shorter text;
begin
  if p_number = trunc(p_number) and abs(p_number) <= 9007199254740992 then
    return trunc(p_number)::text;
  end if;
  -- What is nearer to zero than to the smallest double would come back as zero.
  if abs(p_number) > 1.7976931348623157e308 or (p_number <> 0 and abs(p_number) < 2.4703282292062328e-324) then
    perform internal.refuse(internal.problem('RS014', jsonb_build_object('expected', 'numbers that fit an IEEE double')));
  end if;
  -- float8 output is the shortest text that reads back as the same double; only its layout differs from ECMAScript's.
  v_text := p_number::float8::text;
  v_sign := case when v_text like '-%' then '-' else '' end;
  v_parts := regexp_match(ltrim(v_text, '-'), '^([0-9]+)(?:[.]([0-9]+))?(?:e([+-][0-9]+))?$');
  v_digits := v_parts[1] || coalesce(v_parts[2], '');
  v_exponent := coalesce(v_parts[3], '0')::int + length(v_parts[1]);
  v_exponent := v_exponent - (length(v_digits) - length(ltrim(v_digits, '0')));
  v_digits := rtrim(ltrim(v_digits, '0'), '0');
  -- PostgreSQL never gives a text that lies exactly half-way between two doubles, ECMAScript does when it is shorter (1e23).
  -- There are such texts between 2^53 and 10^40 only, where half-way is a whole number with few digits.
  if v_exponent between 16 and 40 and length(v_digits) > 15 then
    for v_shorter in select trunc(v_digits::numeric / 10) + n from generate_series(0, 1) n loop
      if (v_shorter || 'e' || (v_exponent - length(v_digits) + 1))::float8 = abs(p_number)::float8 then
        v_exponent := v_exponent - length(v_digits) + 1 + length(v_shorter);
        v_digits := rtrim(v_shorter, '0');
        exit;
      end if;
    end loop;
  end if;
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
