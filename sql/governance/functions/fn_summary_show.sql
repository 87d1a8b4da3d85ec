-- promise: a summary with its evidence and the timeline of what it rests on: a summary hides nothing.
-- callers: chancery_app
-- refuses with: RE049 no such summary, RE043 the cursor, RI001, RI002, RI040
create or replace function governance.fn_summary_show(p_reader text, p_summary_id uuid, p_after text, p_limit integer) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'audit.timeline.max_items');
  v_limit integer := coalesce(p_limit, 100);
  v_summary governance.status_summary;
  v_runs uuid[];
begin
  perform identity.require_permission(p_reader, 'problems.read');
  select s.* into v_summary from governance.status_summary s where s.summary_id = p_summary_id;
  if not found then
    perform internal.refuse(internal.problem('RE049', jsonb_build_object('summary_id', p_summary_id)));
  end if;
  if v_summary.category <> 'executors' then
    perform governance.require_category(p_reader, v_summary.category);
  end if;
  if v_limit < 1 or v_limit > v_most then
    perform internal.refuse(internal.problem('RE043', jsonb_build_object('limit', p_limit, 'most', v_most)));
  end if;
  select array_remove(array_agg(distinct case split_part(r.ref, ':', 1)
           when 'event' then (governance.find_event(internal.uuid_or_null(substr(r.ref, 7))) ->> 'subject_id')::uuid
           when 'log' then internal.uuid_or_null(split_part(substr(r.ref, 5), '/', 1))
           when 'job' then internal.uuid_or_null(substr(r.ref, 5))
           when 'unit' then (select u.unit_id from iu.iu_lifecycle_log u where u.lifecycle_log_id = internal.uuid_or_null(substr(r.ref, 6))) end), null)
    into v_runs
    from unnest(v_summary.source_event_refs) r (ref);
  return governance.summary_report(v_summary, false) - '{ok,replayed,problems}'::text[]
         || jsonb_build_object('timeline', audit.timeline_page(p_reader, v_runs || v_summary.summary_id, null, null, null, null, p_after, v_limit));
end
$$;
