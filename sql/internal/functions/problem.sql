-- promise: one named problem with its facts, in the shape that every refusal and preview carries.
create or replace function internal.problem(p_code text, p_facts jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_array(p_facts || jsonb_build_object('code', r.code, 'problem', r.problem))
    from config.refusal r where r.code = p_code
$$;
