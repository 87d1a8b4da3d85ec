-- promise: what happened, in order, across all rooms: of a trace, of an entity, or within a window of days, a page at a time. Without the
--          permission to read the audit, only what the reader did or is in charge of. Never a tail of everything.
-- callers: chancery_app
-- refuses with: RE042 neither a trace nor an entity nor a window, or the window is too wide, RE043 the cursor or the number, RI001, RI002, RI040
create or replace function audit.fn_timeline(
  p_reader text, p_trace text, p_entity_kind text, p_entity_id text, p_from timestamptz, p_to timestamptz, p_after text, p_limit integer
) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_days constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'audit.timeline.max_days');
  v_most constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'audit.timeline.max_items');
  v_limit integer := coalesce(p_limit, 100);
  v_runs uuid[];
  v_why text;
begin
  -- Everybody who is somebody may see what they did themselves.
  if not coalesce((select p.active from identity.principal p where p.name = p_reader), false) then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_reader)));
  end if;
  if p_trace is null and p_entity_id is null then
    v_why := case
      when p_from is null or p_to is null then 'name a trace, an entity, or a window from and to'
      when not isfinite(p_from) or not isfinite(p_to) or p_to < p_from then 'the window ends before it begins'
      when p_to - p_from > make_interval(days => v_days) then 'the window is too wide' end;
  elsif p_trace is not null and p_trace !~ '^[0-9a-f]{32}$' then
    v_why := 'a trace is 32 hexadecimal digits';
  elsif p_entity_id is not null and (internal.is_blank(p_entity_kind)) then
    v_why := 'an entity has a kind and an id';
  end if;
  if v_why is not null then
    perform internal.refuse(internal.problem('RE042', jsonb_build_object('why', v_why, 'max_days', v_days)));
  end if;
  if v_limit < 1 or v_limit > v_most then
    perform internal.refuse(internal.problem('RE043', jsonb_build_object('limit', p_limit, 'most', v_most)));
  end if;
  if p_trace is not null then
    v_runs := audit.runs_of_trace(p_trace);
  end if;
  if internal.uuid_or_null(p_entity_id) is not null then
    v_runs := case when v_runs is null or internal.uuid_or_null(p_entity_id) = any (v_runs) then array[internal.uuid_or_null(p_entity_id)] else '{}' end;
  elsif p_entity_id is not null then
    -- What is known by a text has no trace.
    v_runs := case when p_trace is not null then '{}'::uuid[] end;
  end if;
  return audit.timeline_page(p_reader, v_runs, p_entity_kind, p_entity_id, p_from, p_to, p_after, v_limit);
end
$$;
