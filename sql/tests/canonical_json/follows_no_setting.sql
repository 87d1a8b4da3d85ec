-- claim: a session that asks for fewer digits or for escaped strings gets the same bytes.
do $claim$
declare
  v_value constant jsonb := '{"third": 0.3333333333333333, "big": 1.2345678901234567e25, "b": "\\"}';
  v_before constant text := internal.canonical_json(v_value);
begin
  perform set_config('extra_float_digits', '-15', true);
  perform set_config('standard_conforming_strings', 'off', true);
  perform t.equal(internal.canonical_json(v_value), v_before);
end
$claim$;
