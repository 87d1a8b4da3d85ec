-- promise: the steps of a definition numbered so that each comes after all that lead to it, in the order of the definition where that
--          leaves a choice; the names of one cycle when there is one; the steps that no start leads to.
-- Kahn's algorithm on arrays, with the waiting steps in a heap; one pass over steps and relations, also for many thousands. Steps that are
-- written near each other are numbered near each other, so that their rows lie on few pages: a step's turn touches those of its neighbours.
create or replace function workflow.number_steps(p_definition jsonb, out step_nos integer[], out cycle text[], out unreachable text[])
language plpgsql immutable
as $$
declare
  v_keys text[];
  v_count integer;
  v_out_first integer[];
  v_out integer[];
  v_in_first integer[];
  v_in integer[];
  v_left integer[];
  v_reached boolean[];
  v_heap integer[] := '{}';
  v_size integer := 0;
  v_at integer;
  v_next integer;
  v_numbered integer := 0;
  v_step integer;
  v_seen integer[];
  v_child integer;
begin
  select array_agg(s.doc ->> 'key' order by s.i) into v_keys from jsonb_array_elements(p_definition -> 'steps') with ordinality s (doc, i);
  v_count := cardinality(v_keys);
  with step as materialized (select k.key, k.i::int as i from unnest(v_keys) with ordinality k (key, i)),
  way as materialized (
    select distinct f.i as f, t.i as t
      from jsonb_array_elements(case jsonb_typeof(p_definition -> 'relations') when 'array' then p_definition -> 'relations' else '[]' end) r
      join step f on f.key = r ->> 'from' join step t on t.key = r ->> 'to'),
  outs as (select s.i, count(w.t)::int as n from step s left join way w on w.f = s.i group by s.i),
  ins as (select s.i, count(w.f)::int as n from step s left join way w on w.t = s.i group by s.i)
  select (select array_agg(1 + before order by i) from (select o.i, (sum(o.n) over (order by o.i) - o.n)::int as before from outs o) x) || 1 + (select count(*)::int from way),
         (select array_agg(w.t order by w.f, w.t) from way w),
         (select array_agg(1 + before order by i) from (select n.i, (sum(n.n) over (order by n.i) - n.n)::int as before from ins n) x) || 1 + (select count(*)::int from way),
         (select array_agg(w.f order by w.t, w.f) from way w),
         (select array_agg(n.n order by n.i) from ins n),
         -- Without a start: the one step that nothing leads to, where there is one; otherwise the first.
         (select array_agg((case when p_definition ? 'start' then p_definition -> 'start' ? s.key
                                 when (select count(*) from ins r where r.n = 0) = 1 then n.n = 0
                                 else s.i = 1 end) order by s.i) from step s join ins n using (i))
    into v_out_first, v_out, v_in_first, v_in, v_left, v_reached;
  for v_i in 1 .. v_count loop
    if v_left[v_i] = 0 then
      -- In ascending order, which is a heap.
      v_size := v_size + 1;
      v_heap[v_size] := v_i;
    end if;
  end loop;
  step_nos := array_fill(0, array[v_count]);
  while v_size > 0 loop
    v_step := v_heap[1];
    v_next := v_heap[v_size];
    v_size := v_size - 1;
    v_at := 1;
    while v_at * 2 <= v_size loop
      v_child := v_at * 2 + (v_at * 2 < v_size and v_heap[v_at * 2 + 1] < v_heap[v_at * 2])::int;
      exit when v_next < v_heap[v_child];
      v_heap[v_at] := v_heap[v_child];
      v_at := v_child;
    end loop;
    v_heap[v_at] := v_next;
    v_numbered := v_numbered + 1;
    step_nos[v_step] := v_numbered;
    for v_i in v_out_first[v_step] .. v_out_first[v_step + 1] - 1 loop
      v_next := v_out[v_i];
      v_left[v_next] := v_left[v_next] - 1;
      if v_reached[v_step] then
        v_reached[v_next] := true;
      end if;
      if v_left[v_next] = 0 then
        v_size := v_size + 1;
        v_at := v_size;
        while v_at > 1 and v_heap[v_at / 2] > v_next loop
          v_heap[v_at] := v_heap[v_at / 2];
          v_at := v_at / 2;
        end loop;
        v_heap[v_at] := v_next;
      end if;
    end loop;
  end loop;
  if v_numbered < v_count then
    -- Whatever is left has something left before it: walking back comes round.
    v_step := (select min(i) from unnest(v_left) with ordinality l (n, i) where l.n > 0);
    v_seen := '{}';
    while array_position(v_seen, v_step) is null loop
      v_seen := v_seen || v_step;
      for v_i in v_in_first[v_step] .. v_in_first[v_step + 1] - 1 loop
        if v_left[v_in[v_i]] > 0 then
          v_step := v_in[v_i];
          exit;
        end if;
      end loop;
    end loop;
    v_seen := v_seen[array_position(v_seen, v_step) : cardinality(v_seen)] || v_step;
    cycle := array(select v_keys[s] from unnest(v_seen) with ordinality x (s, i) order by x.i desc);
  end if;
  unreachable := array(select v_keys[i] from unnest(v_reached) with ordinality r (reached, i) where not r.reached order by i);
end
$$;
