-- promise: as governance.issue_open, but a problem with the report stops the caller: what is found is never dropped in silence.
-- refuses with: RE021, RI001–RI004, RS018
create or replace function governance.require_open(
  p_source text, p_severity text, p_issue_type text, p_issue_class text, p_title text, p_description text, p_entity_type text,
  p_entity_code text, p_evidence jsonb, p_principal text
) returns uuid
language plpgsql
as $$
declare
  v_report jsonb := governance.issue_open(
    p_source, p_severity, p_issue_type, p_issue_class, p_title, p_description, p_entity_type, p_entity_code, p_evidence, p_principal);
begin
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return (v_report ->> 'issue_id')::uuid;
end
$$;
