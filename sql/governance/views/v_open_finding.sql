create or replace view governance.v_open_finding with (security_barrier) as
select i.issue_class, i.issue_type, i.entity_type, i.entity_code, 'finding:' || i.issue_id as item_id, i.issue_type as cause, i.severity,
       i.first_seen_at as since,
       replace((select m.text from config.message m where m.message_key = 'problem.finding.title' and m.locale = 'en'), '{title}', i.title) as title_en,
       replace((select m.text from config.message m where m.message_key = 'problem.finding.title' and m.locale = 'vi'), '{title}', i.title) as title_vi,
       jsonb_strip_nulls(jsonb_build_object('issue_type', i.issue_type, 'entity_type', i.entity_type, 'entity_code', i.entity_code,
         'occurrence_count', i.occurrence_count, 'last_seen_at', i.last_seen_at, 'acknowledged', i.state = 'acknowledged', 'evidence', i.evidence)) as facts,
       i.trace_id, 'finding'::text as run_kind, i.issue_id as run_id, i.issue_id, 'log:' || i.issue_id || '/1' as source_ref
  from governance.system_issues i
 where i.state in ('open', 'acknowledged')
   -- The summarizer's own: it stands for the items of a category, which are counted by themselves.
   and i.issue_type <> 'category_in_trouble';
comment on view governance.v_open_finding is 'Open findings in the shape of problems. The views of the categories take theirs from here.';
