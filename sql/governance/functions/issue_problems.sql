-- promise: what is wrong with a report of a problem; null when nothing is. Values are not repeated: they could be what was denied.
create or replace function governance.issue_problems(
  p_source text, p_severity text, p_issue_type text, p_issue_class text, p_title text, p_description text, p_entity_type text,
  p_entity_code text, p_evidence jsonb
) returns jsonb
language plpgsql stable
as $$
declare
  v_max_bytes integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'finding.evidence.max_bytes');
  v_denied jsonb;
  v_field text;
  v_expected text;
begin
  select f.field, f.expected into v_field, v_expected
    from (values
      (1, 'source', 'a name of at most 200 bytes', not internal.is_blank(p_source) and octet_length(p_source) <= 200),
      (2, 'severity', 'critical, warning or info', governance.severity(p_severity) is not null),
      (3, 'issue_type', 'a word in lower case', p_issue_type ~ '^[a-z][a-z0-9_]{0,62}$'),
      (4, 'issue_class', 'a class of findings', p_issue_class in (
         'dlq', 'silent_worker', 'overdue_step', 'schema_violation', 'event_lag', 'integrity', 'failed_cut', 'orphan_workflow', 'operation')),
      (5, 'title', 'a line of at most 500 bytes', not internal.is_blank(p_title) and octet_length(p_title) <= 500 and p_title !~ E'[\n\r]'),
      (6, 'description', 'at most 4000 bytes', p_description is null or octet_length(p_description) <= 4000),
      (7, 'entity', 'type and code, or neither', (p_entity_type is null) = (p_entity_code is null)
         and (p_entity_code is null or (not internal.is_blank(p_entity_type) and octet_length(p_entity_type) <= 100
                                        and not internal.is_blank(p_entity_code) and octet_length(p_entity_code) <= 500))),
      (8, 'evidence', format('an object of at most %s bytes', v_max_bytes),
         jsonb_typeof(p_evidence) = 'object' and octet_length(p_evidence::text) <= v_max_bytes)
    ) f (n, field, expected, fits)
   where f.fits is not true
   order by f.n limit 1;
  if found then
    return internal.problem('RE021', jsonb_build_object('field', v_field, 'expected', v_expected));
  end if;
  v_denied := event.denied_keys(p_evidence);
  if v_denied is not null then
    return internal.problem('RE021', jsonb_build_object('field', 'evidence', 'expected', 'references, no contents or secrets', 'keys', v_denied));
  end if;
  return null;
end
$$;
