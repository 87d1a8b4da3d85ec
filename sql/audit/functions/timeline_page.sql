-- promise: a page of the timeline in the order of time, within what the reader may see: {items, next}. Of the runs that are given, or of an
--          entity by its text, or of all within a window. Rows are never changed and a page begins behind the last one, so whatever was
--          there when the first page was read comes once.
-- callers: audit.fn_timeline, governance.fn_problem_show, governance.fn_summary_show
-- refuses with: RE043 the cursor is not ours
create or replace function audit.timeline_page(
  p_reader text, p_runs uuid[], p_entity_kind text, p_entity_id text, p_from timestamptz, p_to timestamptz, p_after text, p_limit integer
) returns jsonb
language plpgsql stable
as $$
declare
  v_place jsonb := internal.cursor_place(p_after, 2);
  v_from timestamptz := coalesce(p_from, '-infinity');
  v_to timestamptz := coalesce(p_to, 'infinity');
  v_key text;
  v_width interval := '1 hour';
  v_upto timestamptz;
  v_items jsonb := '[]';
  v_last jsonb;
begin
  if p_after is not null then
    if v_place is null or jsonb_typeof(v_place -> 0) <> 'number' then
      perform internal.refuse(internal.problem('RE043', jsonb_build_object('limit', p_limit, 'most', null)));
    end if;
    v_from := internal.from_micros((v_place -> 0)::bigint);
    v_key := v_place ->> 1;
  end if;
  if p_runs is not null or p_entity_id is not null or not isfinite(v_from) or not isfinite(v_to) then
    v_items := audit.timeline_slice(p_reader, p_runs, p_entity_kind, p_entity_id, v_from, v_to, v_key, p_limit + 1);
  else
    -- Stretch by stretch, each twice as wide: a page of a busy month is found in its first hours.
    loop
      v_upto := least(v_from + v_width, v_to);
      v_items := v_items || audit.timeline_slice(p_reader, null, null, null, v_from, v_upto, v_key, p_limit + 1 - jsonb_array_length(v_items));
      exit when v_upto >= v_to or jsonb_array_length(v_items) > p_limit;
      -- The stretch ended with its last moment; nothing has a key behind this one.
      v_from := v_upto;
      v_key := '~';
      v_width := v_width * 2;
    end loop;
  end if;
  if jsonb_array_length(v_items) > p_limit then
    v_last := v_items -> (p_limit - 1);
    v_items := v_items - p_limit;
  end if;
  return jsonb_build_object(
    'items', coalesce((select jsonb_agg(i.item - 'micros' order by i.n) from jsonb_array_elements(v_items) with ordinality i (item, n)), '[]'),
    'next', case when v_last is not null then internal.cursor_text(jsonb_build_array(v_last -> 'micros', v_last -> 'key')) end);
end
$$;
