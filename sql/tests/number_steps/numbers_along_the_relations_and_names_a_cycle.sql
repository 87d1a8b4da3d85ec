-- claim: each step is numbered after all that lead to it, as the file has them where that leaves a choice; a cycle is named in its order, and what
--        no start leads to is named too.
create function pg_temp.numbered(p_keys text, p_ways text, p_start text default null) returns text language sql as $$
  select concat_ws(' | ', n.step_nos::text, array_to_string(n.cycle, '>'), case when n.cycle is null then nullif(array_to_string(n.unreachable, ','), '') end)
    from workflow.number_steps(jsonb_strip_nulls(jsonb_build_object(
      'steps', (select jsonb_agg(jsonb_build_object('key', k)) from unnest(string_to_array(p_keys, ' ')) k),
      'relations', (select jsonb_agg(jsonb_build_object('from', split_part(w, '>', 1), 'to', split_part(w, '>', 2))) from unnest(string_to_array(p_ways, ' ')) w),
      'start', case when p_start is not null then to_jsonb(string_to_array(p_start, ' ')) end))) n
$$;
select t.equal(pg_temp.numbered('a b c', 'a>b b>c'), '{1,2,3}'), t.equal(pg_temp.numbered('a c b', 'a>b b>c'), '{1,3,2}'),
       t.equal(pg_temp.numbered('a b c d', 'a>b a>c b>d c>d'), '{1,2,3,4}');
select t.equal(pg_temp.numbered('a b c', 'a>b b>c c>b'), '{1,0,0} | b>c>b'), t.equal(pg_temp.numbered('a b', 'a>b b>b'), '{1,0} | b>b');
select t.equal(pg_temp.numbered('c b a d', 'a>b'), '{1,3,2,4} | b,a,d'), t.equal(pg_temp.numbered('a b c', 'a>b'), '{1,2,3} | c'), t.equal(pg_temp.numbered('a b c', 'a>b', 'a c'), '{1,2,3}');
