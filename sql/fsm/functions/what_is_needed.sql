-- promise: what the problems of a move that nobody has asked for yet really are: what stands against it, and what the caller has to bring, each
--          of these with the field in which it is brought, and the values or the schema that it has to fit where rows hold them. What the door
--          itself makes true is neither.
-- callers: fsm.fn_actions
create or replace function fsm.what_is_needed(
  p_run_kind text, p_run_id uuid, p_machine_id text, p_to_state text, p_trigger_ref text, p_problems jsonb, out problems jsonb, out needs jsonb
)
language sql stable
as $$
  select coalesce(jsonb_agg(x.problem order by x.n) filter (where not x.asked), '[]'),
         coalesce(jsonb_agg(x.problem || jsonb_strip_nulls(jsonb_build_object(
                    'field', x.field, 'approval_kind', x.approval_kind,
                    'values', case
                      when x.field in ('facet', 'waits') then (
                        select jsonb_agg(jsonb_build_object('value', f.facet_code, 'label', (
                                 select jsonb_object_agg(m.locale, m.text) from config.message m where m.message_key = f.ui_label_i18n_key)) order by f.primary_ordinal)
                          from fsm.state_facet_def f where f.state_machine_id = p_machine_id and f.state_code = p_to_state)
                      when x.vocabulary is not null then (
                        select jsonb_agg(jsonb_build_object('value', substr(c.key, length(x.vocabulary) + 8), 'label', coalesce((
                                 select jsonb_object_agg(m.locale, m.text) from config.message m where m.message_key = substr(c.key, 7)),
                                 jsonb_build_object('en', c.value #>> '{}'))) order by c.key)
                          from config.dot_config c where starts_with(c.key, 'vocab.' || x.vocabulary || '.')) end,
                    'schema', case when x.field = 'document' then workflow.contract_of(p_run_kind, p_run_id) end)) order by x.n)
                  filter (where x.asked and not x.by_the_door), '[]')
    from (select p.problem, p.n, d.vocabulary, d.approval_kind,
                 -- A room's doors say what its events say, and which facet it is.
                 d.guard_name is not null and d.field is null or p.problem ->> 'code' in ('RS010', 'RE002', 'RS027') and fsm.is_moved_by_its_room(p_run_kind) as by_the_door,
                 p.problem ->> 'code' in ('RS007', 'RS010', 'RE002', 'RS027') or d.guard_name is not null or coalesce(g.text like '%evidence%', false) as asked,
                 case p.problem ->> 'code' when 'RS007' then 'audit_ref' when 'RS010' then 'facet' when 'RE002' then 'event'
                      -- The first member that is missing; the others are asked for when it is there.
                      when 'RS027' then substr(p.problem #>> '{breaks,0,at}', 2)
                      else coalesce(d.field, substring(g.text from '[$][.]"?evidence"?[.]"?([a-z_][a-z0-9_]*)')) end as field
            from jsonb_array_elements(p_problems) with ordinality p (problem, n)
            left join lateral (
              select w.guard_name, w.field, w.vocabulary, w.approval_kind from fsm.guard_need w
               where p.problem ->> 'code' = 'RS006' and w.guard_name = p.problem ->> 'guard' and w.trigger_ref in (p_trigger_ref, '*')
               order by w.trigger_ref = '*' limit 1) d on true
            left join lateral (
              -- A guard that reads the evidence can't hold before there is some: that is a thing to bring, not a thing against it.
              select coalesce(g.rule::text, f.prosrc) as text
                from fsm.guard_def g left join pg_catalog.pg_proc f on f.oid = to_regprocedure(g.predicate_fn || '(jsonb)')
               where p.problem ->> 'code' = 'RS006' and g.guard_name = p.problem ->> 'guard'
                 and (g.guard_id = g.guard_name or g.guard_id = p_machine_id || '/' || g.guard_name) limit 1) g on true) x
$$;
