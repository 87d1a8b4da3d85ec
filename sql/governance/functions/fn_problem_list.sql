-- promise: the problems of a category: how many there are of each cause, and a page of them, the worst and oldest first. The cursor of a page
--          leads to the next one; what is settled meanwhile is gone, and nothing comes twice.
-- callers: chancery_app
-- refuses with: RE040 no such category, RE043 the cursor or the number is not ours, RI001, RI002, RI040
create or replace function governance.fn_problem_list(p_reader text, p_category text, p_cause text, p_after text, p_limit integer) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'problems.list.max_items');
  v_after jsonb := internal.cursor_place(p_after, 3);
  v_limit integer := coalesce(p_limit, 50);
  v_rank integer;
  v_since timestamptz;
  v_groups jsonb;
  v_items jsonb;
  v_last jsonb;
begin
  perform governance.require_category(p_reader, p_category);
  if (p_after is not null and (v_after is null or jsonb_typeof(v_after -> 0) <> 'number' or jsonb_typeof(v_after -> 1) <> 'number'
         or (v_after -> 0)::numeric not between 1 and 3))
     or v_limit < 1 or v_limit > v_most then
    perform internal.refuse(internal.problem('RE043', jsonb_build_object('limit', p_limit, 'most', v_most)));
  end if;
  v_rank := (v_after -> 0)::integer;
  v_since := internal.from_micros((v_after -> 1)::bigint);
  select coalesce(jsonb_agg(jsonb_build_object(
           'cause', g.cause, 'count', g.count, 'oldest', internal.rfc3339(g.oldest), 'severity', (array['critical', 'warning', 'info'])[g.rank])
           order by g.rank, g.count desc, g.oldest, g.cause), '[]')
    into v_groups
    from (select p.cause, count(*) as count, min(p.since) as oldest, min(governance.severity_rank(p.severity)) as rank
            from governance.vw_problem p where p.category = p_category and governance.sees(p_reader, p.run_kind, p.run_id) group by p.cause) g;
  select coalesce(jsonb_agg(i.item order by i.rank, i.since, i.item_id collate "C") filter (where i.n <= v_limit), '[]'),
         (jsonb_agg(jsonb_build_array(i.rank, internal.micros(i.since), i.item_id)) filter (where i.n = v_limit and i.more)) -> 0
    into v_items, v_last
    from (select k.rank, k.since, k.item_id, row_number() over w as n, lead(k.item_id) over w is not null as more,
                 governance.problem_json(k.category, k.item_id, k.cause, k.severity, k.since, k.title_en, k.title_vi, k.facts, k.trace_id, k.run_kind, k.run_id,
                                         k.issue_id) as item
            from (select p.category, p.item_id, p.cause, p.severity, p.since, p.title_en, p.title_vi, p.facts, p.trace_id, p.run_kind, p.run_id, p.issue_id,
                         governance.severity_rank(p.severity) as rank
                    from governance.vw_problem p
                   where p.category = p_category and (p_cause is null or p.cause = p_cause) and governance.sees(p_reader, p.run_kind, p.run_id)
                     and (v_after is null or (governance.severity_rank(p.severity), p.since, p.item_id collate "C") > (v_rank, v_since, (v_after ->> 2) collate "C"))
                   order by governance.severity_rank(p.severity), p.since, p.item_id collate "C" limit v_limit + 1) k
          window w as (order by k.rank, k.since, k.item_id collate "C")) i;
  return jsonb_build_object('category', p_category, 'groups', v_groups, 'items', v_items, 'next', internal.cursor_text(v_last));
end
$$;
