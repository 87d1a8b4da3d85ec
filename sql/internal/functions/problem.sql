-- promise: one named problem with its facts, in the shape that every refusal and preview carries. A code that has no row
--          raises: a problem that vanished would be a move allowed.
create or replace function internal.problem(p_code text, p_facts jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_problem text;
begin
  select r.problem into strict v_problem from config.refusal r where r.code = p_code;
  return jsonb_build_array(p_facts || jsonb_build_object('code', p_code, 'problem', v_problem));
end
$$;
