-- promise: births without a permit are findings of their family, counted once each pass that met some.
-- callers: birth.fn_birth_handoff, which meets every birth once
create or replace function birth.report_missing(p_births uuid[], p_principal text) returns void
language plpgsql
as $$
declare
  v_missing record;
begin
  for v_missing in
    select b.collection_name, count(*) as births, min(b.entity_code) as code, min(b.born_by::text) as login,
           bool_or(coalesce(b.born_at >= f.enforced_from, false)) as enforced
      from birth.birth_registry b join birth.family f using (collection_name)
     where b.birth_id = any (p_births) and b.admission = 'missing'
     group by b.collection_name order by b.collection_name
  loop
    perform governance.require_open(
      'birth_gate', case when v_missing.enforced then 'critical' else 'warning' end, 'permit_missing', 'integrity',
      format('%s has births without a permit', v_missing.collection_name), null, 'birth_family', v_missing.collection_name,
      jsonb_build_object('births', v_missing.births, 'code', v_missing.code, 'login', v_missing.login), p_principal);
  end loop;
end
$$;
