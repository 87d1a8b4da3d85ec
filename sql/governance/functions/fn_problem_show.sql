-- promise: one problem with the finding about it, the finding's history and what the reader can do about it, and how the timeline of its trace begins; the timeline as far as
--          the reader may see it.
-- callers: chancery_app
-- refuses with: RE040 no such category, RE041 no such problem, or it is settled, RI001, RI002, RI040
create or replace function governance.fn_problem_show(p_reader text, p_category text, p_item text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem record;
begin
  perform governance.require_category(p_reader, p_category);
  select p.trace_id, p.run_id, p.issue_id,
         governance.problem_json(p.category, p.item_id, p.cause, p.severity, p.since, p.title_en, p.title_vi, p.facts, p.trace_id, p.run_kind, p.run_id,
                                 p.issue_id) as item
    into v_problem
    from governance.vw_problem p where p.category = p_category and p.item_id = p_item and governance.sees(p_reader, p.run_kind, p.run_id) limit 1;
  if not found then
    perform internal.refuse(internal.problem('RE041', jsonb_build_object('category', p_category, 'item', left(p_item, 600))));
  end if;
  return v_problem.item || jsonb_build_object(
    'what_to_do_en', governance.words('problem.' || p_category || '.what_to_do', 'en'), 'what_to_do_vi', governance.words('problem.' || p_category || '.what_to_do', 'vi'),
    'finding', governance.finding_json(v_problem.issue_id) || jsonb_build_object('actions', fsm.fn_actions('finding', v_problem.issue_id, p_reader)),
    'timeline', audit.timeline_page(
      p_reader, audit.runs_of_trace(v_problem.trace_id) || array_remove(array[v_problem.run_id, v_problem.issue_id], null), null, null, null, null, null, 20));
end
$$;
