-- promise: the JSON object in the first fenced block of a document; null when there is none.
create or replace function orchestrator.json_block(p_body text) returns jsonb
language plpgsql immutable
as $$
declare
  v_object jsonb;
begin
  v_object := substring(p_body from E'```json\\n(.*?)\\n```')::jsonb;
  return case when jsonb_typeof(v_object) = 'object' then v_object end;
exception when invalid_text_representation or untranslatable_character then
  return null;
end
$$;
