-- promise: the point that a public key says, as its two coordinates; null when the bytes are no key that anybody may have: not 32 bytes, not
--          the one encoding of their point, no point of the curve, or a point of small order, with which one signature is good for any text.
-- callers: identity.verify_ed25519, identity.key_form_problems
create or replace function identity.ed25519_point(p_public_key bytea) returns numeric[]
language plpgsql immutable strict parallel safe
as $$
declare
  c_p constant numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
  c_inverse constant numeric := 0.000000000000000000000000000000000000000000000000000000000000000000000000000017272337110188889250772703725600799142232000728872562770047406940337183606330522;
  c_d constant numeric := 37095705934669439343138083508754565189542113879843219016388785533085940283555;
  c_root_of_minus_1 constant numeric :=
    19681161376707505956807079304988542015446066515923890162744021073123829784752;
  -- The ordinates of the eight points of small order.
  c_small_order constant numeric[] := '{
    0,
    1,
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
    57896044618658097711785492504343953926634992332820282019728792003956564819948}';
  v_x numeric;
  v_y numeric;
  v_u numeric;
  v_v numeric;
  v_v3 numeric;
  v_check numeric;
begin
  if octet_length(p_public_key) <> 32 then
    return null;
  end if;
  v_y := identity.ed25519_number(set_byte(p_public_key, 31, get_byte(p_public_key, 31) & 127));
  if v_y >= c_p or v_y = any (c_small_order) then
    return null;
  end if;
  -- x² = (y² - 1) / (dy² + 1)
  v_u := v_y * v_y % c_p;
  v_v := (c_d * v_u + 1) % c_p;
  v_u := v_u - 1;
  v_v3 := v_v * v_v % c_p * v_v % c_p;
  v_x := v_u * v_v3 % c_p * identity.ed25519_power(v_v3 * v_v3 % c_p * v_v % c_p * v_u % c_p) % c_p;
  v_check := v_v * v_x % c_p * v_x % c_p;
  if (v_check + v_u) % c_p = 0 then
    v_x := v_x * c_root_of_minus_1 % c_p;
  elsif (v_check - v_u) % c_p <> 0 then
    return null;
  end if;
  v_x := (v_x + c_p) % c_p;
  if v_x % 2 <> get_byte(p_public_key, 31) >> 7 then
    v_x := c_p - v_x;
  end if;
  return array[v_x, v_y];
end
$$;
