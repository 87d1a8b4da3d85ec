-- promise: the shape of one part of a definition, as a JSON Schema of the subset: the whole without its lists, a step, a task or a relation.
create or replace function workflow.definition_shape(p_part text) returns jsonb
language sql immutable
as $$
  select case p_part
    when 'whole' then jsonb_build_object('type', 'object', 'required', '["workflow", "title"]'::jsonb, 'additionalProperties', false, 'properties', jsonb_build_object(
      'workflow', w.word, 'class', w.word, 'title', w.text, 'description', '{"type": "string"}'::jsonb, 'inputs', '{"type": "object"}'::jsonb,
      'start', jsonb_build_object('type', 'array', 'items', w.word, 'minItems', 1),
      'lanes', w.keys, 'categories', w.keys))
    when 'relation' then jsonb_build_object('type', 'object', 'required', '["from", "to"]'::jsonb, 'additionalProperties', false, 'properties', jsonb_build_object(
      'from', w.word, 'to', w.word, 'kind', '{"enum": ["trigger", "and", "or", "condition", "parallel", "sub_workflow"]}'::jsonb, 'when', w.path, 'label', w.text))
    else jsonb_build_object('type', 'object', 'required', '["key", "title"]'::jsonb, 'additionalProperties', false, 'properties',
      jsonb_build_object(
        'key', w.word, 'title', w.text, 'executor', w.word, 'precondition', w.path, 'postcondition', w.path, 'output', '{"type": "object"}'::jsonb,
        'deadline', '{"type": "string", "maxLength": 40}'::jsonb, 'retry', w.word, 'with', '{"type": "object"}'::jsonb,
        'pic', jsonb_build_object('type', 'object', 'additionalProperties', false, 'properties', jsonb_build_object(
          'principal', '{"type": "string"}'::jsonb, 'class', w.word, 'starter', '{"const": true}'::jsonb)))
      || case when p_part = 'step' then jsonb_build_object(
        'lane', w.word, 'category', w.word, 'optional', '{"type": "boolean"}'::jsonb, 'milestone', '{"type": "boolean"}'::jsonb, 'sub_workflow', w.word,
        'unit', '{"type": "string", "minLength": 1, "maxLength": 500}'::jsonb, 'visible_to', jsonb_build_object('type', 'array', 'items', w.word),
        'tasks', '{"type": "array", "maxItems": 100}'::jsonb) else '{}' end) end
    from (select '{"type": "string", "pattern": "^[a-z][a-z0-9_]{0,62}$"}'::jsonb as word,
                 '{"type": "string", "minLength": 1, "maxLength": 2000}'::jsonb as path,
                 '{"type": "object", "required": ["en", "vi"], "additionalProperties": false,
                   "properties": {"en": {"type": "string", "minLength": 1, "maxLength": 500}, "vi": {"type": "string", "minLength": 1, "maxLength": 500}}}'::jsonb as text,
                 '{"type": "array", "items": {"type": "object", "required": ["key", "title"], "additionalProperties": false, "properties": {
                     "key": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,62}$"}, "title": {"type": "object", "required": ["en", "vi"]}}}}'::jsonb as keys) w
$$;
