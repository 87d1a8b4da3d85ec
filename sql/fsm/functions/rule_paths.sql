-- promise: each place of the document that a rule or a path reads, as names and, for an element, a number; and as a person writes it.
create or replace function fsm.rule_paths(p_rule text) returns table (path jsonb, shown text)
language sql immutable
as $$
  select distinct
         (select coalesce(jsonb_agg(coalesce(a.part[1], '0')::jsonb order by a.n), '[]')
            from regexp_matches(m[1], E'\\.("(?:[^"\\\\]|\\\\.)*")|\\[[^]]*\\]', 'g') with ordinality a (part, n)),
         '$' || regexp_replace(m[1], '[.]"([A-Za-z_][A-Za-z0-9_]*)"', E'.\\1', 'g')
    -- Texts that the rule compares with are taken out first: they may look like a path.
    from (select regexp_replace(p_rule::jsonpath::text, E'(\\."(?:[^"\\\\]|\\\\.)*")|"(?:[^"\\\\]|\\\\.)*"', E'\\1', 'g') as text) bare,
         regexp_matches(bare.text, E'\\$((?:\\."(?:[^"\\\\]|\\\\.)*"|\\[[^]]*\\])*)', 'g') m
$$;
