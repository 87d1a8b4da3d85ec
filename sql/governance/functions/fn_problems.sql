-- promise: what is wrong now, in one look: a sentence, and the eight categories, the worst first and those without a problem last. A
--          category that the reader may not see says so and nothing else. `first` is the problem that the sentence names. Counts come from the views that the lists come from.
-- callers: chancery_app
-- refuses with: RI001, RI002, RI040 the reader may not see problems
create or replace function governance.fn_problems(p_reader text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := internal.now();
  v_seen text[];
  v_categories jsonb;
  v_total bigint;
  v_causes jsonb;
  v_group jsonb;
  v_worst record;
  v_en text;
  v_vi text;
  v_first jsonb;
begin
  perform identity.require_permission(p_reader, 'problems.read');
  select coalesce(array_agg(c.category), '{}') into v_seen
    from unnest(governance.categories()) c (category) where identity.permits(p_reader, 'problems.' || c.category);
  select coalesce(jsonb_agg(to_jsonb(k) order by k.rank, k.count desc, k.oldest, k.category, k.cause), '[]') into v_causes
    from (select p.category, p.cause, count(*) as count, min(governance.severity_rank(p.severity)) as rank, min(p.since) as oldest
            from governance.vw_problem p where p.category = any (v_seen) and governance.sees(p_reader, p.run_kind, p.run_id) group by p.category, p.cause) k;
  select coalesce(jsonb_agg(
           jsonb_build_object(
             'category', c.category, 'permission', 'problems.' || c.category, 'hidden', not c.seen,
             'name_en', governance.words('problem.' || c.category || '.name', 'en'), 'name_vi', governance.words('problem.' || c.category || '.name', 'vi'))
           || case when c.seen then jsonb_build_object(
                'count', c.count, 'causes', c.causes, 'severity', (array['critical', 'warning', 'info'])[c.rank], 'oldest', internal.rfc3339(c.oldest),
                'what_to_do_en', governance.words('problem.' || c.category || '.what_to_do', 'en'),
                'what_to_do_vi', governance.words('problem.' || c.category || '.what_to_do', 'vi')) else '{}' end
           order by not c.seen, c.count = 0, c.rank, c.count desc, c.place), '[]'),
         sum(c.count)
    into v_categories, v_total
    from (select c.category, c.place, c.category = any (v_seen) as seen, coalesce(sum(k.count), 0)::bigint as count, count(k.cause) as causes,
                 min(k.rank) as rank, min(k.oldest) as oldest
            from unnest(governance.categories()) with ordinality c (category, place)
            left join jsonb_to_recordset(v_causes) k (category text, cause text, count bigint, rank integer, oldest timestamptz) on k.category = c.category
           group by c.category, c.place) c;
  -- The sentence is about the worst group.
  v_group := v_causes -> 0;
  if v_total = 0 then
    v_en := governance.words(case when cardinality(v_seen) = 8 then 'problems.headline.none' else 'problems.headline.none_seen' end, 'en');
    v_vi := governance.words(case when cardinality(v_seen) = 8 then 'problems.headline.none' else 'problems.headline.none_seen' end, 'vi');
  else
    select p.item_id, p.title_en, p.title_vi, p.since into v_worst
      from governance.vw_problem p where p.category = v_group ->> 'category' and p.cause = v_group ->> 'cause' and governance.sees(p_reader, p.run_kind, p.run_id)
     order by governance.severity_rank(p.severity), p.since, p.item_id limit 1;
    v_en := governance.headline('en', v_total, (v_group -> 'count')::bigint, v_worst.title_en, v_worst.since);
    v_vi := governance.headline('vi', v_total, (v_group -> 'count')::bigint, v_worst.title_vi, v_worst.since);
    v_first := jsonb_build_object('category', v_group ->> 'category', 'item_id', v_worst.item_id);
  end if;
  return jsonb_build_object('checked_at', internal.rfc3339(v_now), 'headline_en', v_en, 'headline_vi', v_vi, 'total', v_total,
                            'first', v_first,
                            'worst', (array['critical', 'warning', 'info'])[(v_group -> 'rank')::integer], 'categories', v_categories);
end
$$;
