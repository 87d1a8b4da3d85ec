-- promise: what a cut of the document would be refused for at its review and can be known before, as problems, all of them; an empty array
--          when nothing is known. p_plan says what the cut would make: {"units": how many, "vocabulary": the words of its rows}. Without it,
--          only the review looks.
-- callers: iu.fn_source_add, cutter_governance.fn_mark
create or replace function cutter_governance.plan_problems(p_document_id text, p_plan jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_max constant bigint := (select (c.value #>> '{}')::bigint from config.dot_config c where c.key = 'cutter.manifest.max_units');
  v_words jsonb;
  v_problems jsonb := '[]';
begin
  if (p_plan ->> 'units')::bigint > v_max then
    v_problems := v_problems || internal.problem('RC022', jsonb_build_object(
      'document_id', p_document_id, 'check', 'unit_limit', 'found', p_plan -> 'units', 'needed', v_max,
      'way', 'divide the document, or let an operator raise cutter.manifest.max_units'));
  end if;
  v_words := (select jsonb_agg(w.value order by w.value) from jsonb_array_elements_text(p_plan -> 'vocabulary') w
               where not exists (select from config.dot_config c where c.key = 'vocab.' || w.value));
  if v_words is not null then
    v_problems := v_problems || internal.problem('RC022', jsonb_build_object(
      'document_id', p_document_id, 'check', 'vocabulary', 'found', v_words, 'needed', 'words that the settings know',
      'way', 'choose known words with --unit-kind and --publication-type'));
  end if;
  return v_problems;
end
$$;
