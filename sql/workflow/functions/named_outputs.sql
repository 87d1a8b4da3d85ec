-- promise: the steps whose outputs a path or parameters name, as $.outputs.STEP; null when outputs are used in another way, which could
--          not be looked up one by one. $.output.outputs is what a sub-workflow gave, and names none of them.
create or replace function workflow.named_outputs(p_text text) returns text[]
language sql immutable
as $$
  select case when (select count(*) from regexp_matches(p_text, E'(?<!\\$\\.output\\.)\\moutputs\\M', 'g')) = (select count(*) from regexp_matches(p_text, E'\\$\\.outputs\\.[a-z][a-z0-9_]*', 'g'))
    then array(select distinct m[1] from regexp_matches(p_text, E'\\$\\.outputs\\.([a-z][a-z0-9_]*)', 'g') m order by 1) end
$$;
