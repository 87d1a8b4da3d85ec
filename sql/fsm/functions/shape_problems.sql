-- promise: one problem when a document that somebody brings does not have the shape that the machine declares for it; an empty array when it
--          does.
-- callers: fsm.evaluate for the evidence of a move, fsm.insert_run for what a run is started with
create or replace function fsm.shape_problems(p_document text, p_label text, p_schema jsonb, p_value jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_breaks constant jsonb := case p_document when 'evidence' then fsm.evidence_breaks(p_schema, p_value) else event.value_problems(p_schema, p_value) end;
begin
  return case when v_breaks = '[]' then '[]' else internal.problem('RS027', jsonb_strip_nulls(jsonb_build_object(
    'document', p_document, 'transition', p_label, 'breaks', v_breaks))) end;
end
$$;
