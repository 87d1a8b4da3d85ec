-- promise: a definition as the reader may see it: of a version, of a run, or of a change beside the version it was written against. No row
--          when there is no such thing. Without p_whole only the digests, which tell what is seen apart.
-- callers: chancery_app
create or replace function workflow.fn_definition_seen(p_kind text, p_workflow text, p_version integer, p_id uuid, p_reader text, p_whole boolean)
returns table (shown_sha256 bytea, shown jsonb, base_sha256 bytea, base jsonb, hidden integer)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_found record;
  v_base record;
  v_hidden text[];
  v_base_hidden text[] := '{}';
begin
  if p_kind = 'change' then
    select c.workflow, c.base_version, r.definition::jsonb as definition, r.definition_sha256 into v_found
      from workflow.workflow_change_requests c join workflow.change_revision r using (change_request_id)
     where c.change_request_id = p_id order by r.revision_no desc limit 1;
    if not found then
      return;
    end if;
    select v.workflow_def_id, v.definition, v.definition_sha256 into v_base
      from workflow.workflow_version v where v.workflow = v_found.workflow and v.version = v_found.base_version;
    v_hidden := workflow.hidden_in(v_found.definition, p_reader);
    if v_base.workflow_def_id is not null then
      v_base_hidden := workflow.hidden_keys(v_base.workflow_def_id, p_reader);
    end if;
    return query select workflow.seen_digest(v_found.definition_sha256, v_hidden), case when p_whole then workflow.without_steps(v_found.definition, v_hidden) end,
                        case when v_base.workflow_def_id is not null then workflow.seen_digest(v_base.definition_sha256, v_base_hidden) end,
                        case when p_whole and v_base.workflow_def_id is not null then workflow.without_steps(v_base.definition::jsonb, v_base_hidden) end,
                        cardinality(v_hidden);
    return;
  end if;
  if p_kind = 'run' then
    select v.workflow_def_id, v.definition, v.definition_sha256 into v_found
      from workflow.workflow_run r join workflow.workflow_version v using (workflow_def_id) where r.workflow_run_id = p_id;
  else
    select v.workflow_def_id, v.definition, v.definition_sha256 into v_found
      from workflow.workflow_version v join workflow.workflow_registry g using (workflow)
     where v.workflow = p_workflow and v.version = coalesce(p_version, g.current_version);
  end if;
  if not found then
    return;
  end if;
  v_hidden := case when p_kind = 'run' then workflow.hidden_of_run(p_id, p_reader) else workflow.hidden_keys(v_found.workflow_def_id, p_reader) end;
  return query select workflow.seen_digest(v_found.definition_sha256, v_hidden),
                      case when p_whole then workflow.without_steps(v_found.definition::jsonb, v_hidden) end, null::bytea, null::jsonb, cardinality(v_hidden);
end
$$;
