-- promise: z to the power of 2^252 - 3 modulo 2^255 - 19, not yet reduced to the end: what square roots and inverses are made of.
-- callers: identity.ed25519_point, identity.verify_ed25519
create or replace function identity.ed25519_power(p_z numeric) returns numeric
language plpgsql immutable parallel safe
as $$
declare
  c_p constant numeric := 57896044618658097711785492504343953926634992332820282019728792003956564819949;
  c_inverse constant numeric := 0.000000000000000000000000000000000000000000000000000000000000000000000000000017272337110188889250772703725600799142232000728872562770047406940337183606330522;
  -- From one power of the form 2^n - 1 to the next: so many squarings, then times an earlier one.
  c_squarings constant integer[] := '{5,10,20,10,50,100,50}';
  c_factor constant integer[] := '{1,2,3,2,5,6,5}';
  v_chain numeric[];
  v numeric;
  v_9 numeric;
begin
  v := p_z * p_z - trunc(p_z * p_z * c_inverse) * c_p;
  v_9 := v * v - trunc(v * v * c_inverse) * c_p;
  v_9 := v_9 * v_9 - trunc(v_9 * v_9 * c_inverse) * c_p;
  v_9 := v_9 * p_z - trunc(v_9 * p_z * c_inverse) * c_p;
  v := v * v_9 - trunc(v * v_9 * c_inverse) * c_p;
  v := v * v - trunc(v * v * c_inverse) * c_p;
  v := v * v_9 - trunc(v * v_9 * c_inverse) * c_p;
  v_chain := array[v];
  for n in 1 .. 7 loop
    for i in 1 .. c_squarings[n] loop
      v := v * v - trunc(v * v * c_inverse) * c_p;
    end loop;
    v := v * v_chain[c_factor[n]] - trunc(v * v_chain[c_factor[n]] * c_inverse) * c_p;
    v_chain[n + 1] := v;
  end loop;
  v := v * v - trunc(v * v * c_inverse) * c_p;
  v := v * v - trunc(v * v * c_inverse) * c_p;
  return v * p_z - trunc(v * p_z * c_inverse) * c_p;
end
$$;
