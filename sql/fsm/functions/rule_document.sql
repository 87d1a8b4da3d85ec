-- promise: the shape of the document that the rules of one transition of a definition are asked of, by what they declare to read. What a move
--          brings is what the transition declares as its evidence, besides what the engine itself asks for.
-- callers: fsm.rule_problems
create or replace function fsm.rule_document(p_definition jsonb, p_transition jsonb, p_reads jsonb) returns jsonb
language sql stable
as $$
  select jsonb_build_object('properties', jsonb_build_object(
    'run', jsonb_build_object('properties',
      '{"id": {}, "kind": {}, "machine": {}, "state": {}, "started_by": {}, "seq": {}, "since_s": {}}'::jsonb
      || jsonb_build_object('data', coalesce(nullif(p_definition -> 'data', 'null'), '{}'))
      || case when p_reads ? 'parent' then '{"parent": {"properties": {"id": {}, "state": {}, "data": {"open": true}, "started_by": {}, "terminal": {}}}}'::jsonb else '{}' end
      || case when p_reads ? 'children' then '{"children": {"properties": {"total": {}, "open": {}, "by_state": {"open": true}}}}'::jsonb else '{}' end
      || case when p_reads ? 'history' then jsonb_build_object('movers', labels.shape, 'moves', labels.shape) else '{}' end),
    'actor', '{"properties": {"principal": {}, "kind": {}, "class": {}}}'::jsonb,
    'evidence', jsonb_build_object('properties',
      coalesce(p_transition #> '{evidence,properties}', '{}')
      || case when p_transition -> 'audit' = 'true' then '{"audit_ref": {}}'::jsonb else '{}' end
      || case when exists (select from jsonb_array_elements(p_definition -> 'states') s
                            where s ->> 'code' = p_transition ->> 'to' and coalesce(s -> 'facets', '[]') <> '[]')
              then '{"facet": {}, "facets": {}}'::jsonb else '{}' end
      || jsonb_build_object('event', coalesce((
           select e -> 'schema' from jsonb_array_elements(p_definition -> 'events') e where e ->> 'type' = p_transition ->> 'event'), '{}'))),
    'config', jsonb_build_object('properties', (
      select coalesce(jsonb_object_agg(substr(c.key, length(p.prefix) + 1), '{}'::jsonb), '{}')
        from (select 'machine.' || (p_definition ->> 'machine') || '.' as prefix) p
        join config.dot_config c on starts_with(c.key, p.prefix))),
    -- The time as a text ($.now) is there for older rules only: texts with other zones do not compare.
    'now_s', '{}'::jsonb))
    from (select jsonb_build_object('properties', coalesce(jsonb_object_agg(t ->> 'label', '{}'::jsonb), '{}')) as shape
            from jsonb_array_elements(p_definition -> 'transitions') t) labels
$$;
