-- promise: adds what guards declared they read to the context: the parent, the children, who moved the run before,
--          the machine's settings, how often each move was made, and times as seconds.
create or replace function fsm.widen_context(p_context jsonb, p_run fsm.run_row, p_run_id uuid, p_reads text[]) returns jsonb
language plpgsql stable
as $$
declare
  v_run jsonb := p_context -> 'run';
begin
  if 'parent' = any (p_reads) then
    v_run := v_run || jsonb_build_object('parent', (
      select jsonb_build_object('id', r.run_id, 'state', r.state_code, 'data', r.data, 'started_by', r.started_by,
                                'terminal', s.is_terminal)
        from fsm.run r join fsm.state_def s using (state_machine_id, state_code)
       where r.run_id = p_run.parent_run_id));
  end if;
  if 'children' = any (p_reads) then
    v_run := v_run || jsonb_build_object('children', (
      select jsonb_build_object(
               'total', coalesce(sum(n), 0), 'open', coalesce(sum(n) filter (where not terminal), 0),
               'by_state', coalesce(jsonb_object_agg(state_code, n), '{}'))
        from (select r.state_code, bool_and(s.is_terminal) as terminal, count(*) as n
                from fsm.run r join fsm.state_def s using (state_machine_id, state_code)
               where r.parent_run_id = p_run_id
               group by r.state_code) by_state));
  end if;
  if 'history' = any (p_reads) then
    v_run := v_run || jsonb_build_object('movers', (
      select coalesce(jsonb_object_agg(label, principal), '{}')
        from (select distinct on (t.label) t.label, l.principal
                from fsm.transition_log l join fsm.transition_def t using (transition_id)
               where l.run_id = p_run_id
               order by t.label, l.seq desc) newest));
  end if;
  if 'moves' = any (p_reads) then
    -- How often each move was made, also those that were not: a count can be asked where a name is missing.
    v_run := v_run || jsonb_build_object('moves', (
      select coalesce(jsonb_object_agg(d.label, coalesce(m.n, 0)), '{}')
        from (select distinct t.label from fsm.transition_def t where t.state_machine_id = p_run.state_machine_id) d
        left join (select t.label, count(*) as n from fsm.transition_log l join fsm.transition_def t using (transition_id)
                    where l.run_id = p_run_id group by t.label) m using (label)));
  end if;
  if 'seconds' = any (p_reads) then
    -- When the run came to where it is: when its newest move was made. A run that is being born has none.
    v_run := v_run || coalesce((
      select jsonb_build_object('since_s', extract(epoch from l.at)) from fsm.transition_log l where l.run_id = p_run_id order by l.seq desc limit 1), '{}');
    p_context := p_context || jsonb_build_object('now_s', extract(epoch from internal.now()));
  end if;
  p_context := p_context || jsonb_build_object('run', v_run);
  if 'config' = any (p_reads) then
    p_context := p_context || jsonb_build_object('config', (
      select coalesce(jsonb_object_agg(substr(c.key, length(prefix) + 1), c.value), '{}')
        from (select 'machine.' || split_part(p_run.state_machine_id, '@', 1) || '.' as prefix) p
        join config.dot_config c on starts_with(c.key, prefix)));
  end if;
  if 'now' = any (p_reads) then
    p_context := p_context || jsonb_build_object('now', to_char(internal.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'));
  end if;
  return p_context;
end
$$;
