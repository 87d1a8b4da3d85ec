-- promise: what fn_iu_create would say, with nothing written: plan_ok, the unit that is there, or the problem.
-- callers: chancery_app, cutter_exec, cutter_verify, cutter_review
create or replace function iu.fn_iu_create_plan(
  p_canonical_address text, p_title text, p_body text, p_actor text, p_unit_kind text default null, p_section_type text default null,
  p_owner_ref text default null, p_publication_type text default null, p_parent_ref uuid default null
) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem jsonb;
  v_existing jsonb;
begin
  v_problem := iu.unit_problem(
    p_canonical_address, p_title, coalesce(p_owner_ref, p_actor), coalesce(p_unit_kind, iu.fn_iu_resolve_default('unit_kind', null) ->> 'value'),
    coalesce(p_section_type, iu.fn_iu_resolve_default('section_type', null) ->> 'value'),
    coalesce(p_publication_type, iu.fn_iu_resolve_default('publication_type', null) ->> 'value'), p_parent_ref);
  if v_problem is null and coalesce(p_body, '') = '' then
    v_problem := jsonb_build_object('field', 'body', 'address', p_canonical_address);
  end if;
  if v_problem is not null then
    return jsonb_build_object('status', 'refused', 'canonical_address', p_canonical_address, 'problems', internal.problem('RI024', v_problem));
  end if;
  v_existing := iu.fn_iu_classify_existing(p_canonical_address);
  if v_existing ->> 'status' <> 'not_found' then
    return v_existing || jsonb_build_object('canonical_address', p_canonical_address);
  end if;
  return jsonb_build_object('status', 'plan_ok', 'canonical_address', p_canonical_address, 'owner_ref', coalesce(p_owner_ref, p_actor),
                            'content_hash', iu.fn_content_hash(p_body));
end
$$;
