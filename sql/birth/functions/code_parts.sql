-- promise: the texts that a code of several columns was made of; null for one that birth.joined_code never makes.
-- callers: birth.normal_code, birth.fn_birth_statement
create or replace function birth.code_parts(p_code text) returns text[]
language sql immutable parallel safe
as $$
  select case when birth.joined_code(p.parts) = p_code then p.parts end
    from (select array_agg(regexp_replace(m.found[1], E'\\\\(.)', E'\\1', 'g') order by m.n) as parts
            from regexp_matches(p_code || ',', E'((?:[^\\\\,]|\\\\.)*),', 'g') with ordinality m (found, n)) p
$$;
