-- promise: which members of a document that somebody brings say nothing, as breaks of a shape: a text of nothing but white space. With a
--          schema only of the members that it declares, and none for which it allows a blank text (minLength 0, or a blank in its enum).
-- callers: fsm.evidence_breaks, workflow.decide
create or replace function fsm.blank_members(p_schema jsonb, p_value jsonb) returns jsonb
language sql immutable
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'at', '/' || replace(replace(m.key, '~', '~0'), '/', '~1'), 'rule', 'not_blank', 'expected', 'a text that says something') order by m.key), '[]')
    from jsonb_each(case jsonb_typeof(p_value) when 'object' then p_value else '{}' end) m
   where jsonb_typeof(m.value) = 'string' and internal.is_blank(m.value #>> '{}')
     and (p_schema is null or p_schema -> 'properties' ? m.key
          and p_schema -> 'properties' -> m.key -> 'minLength' is distinct from '0'
          and not coalesce(p_schema -> 'properties' -> m.key -> 'enum' @> jsonb_build_array(m.value), false))
$$;
