-- promise: a definition, which was found in order, is a version with its steps, tasks, relations and permissions as rows. Gives its id.
-- callers: workflow.fn_workflow_merge
create or replace function workflow.store_version(p_workflow text, p_version integer, p_revision workflow.change_revision, p_principal text) returns uuid
language plpgsql
as $$
declare
  v_def constant uuid := internal.uuid_v7();
  v_definition constant jsonb := p_revision.definition::jsonb;
  v_nos integer[];
begin
  v_nos := (workflow.number_steps(v_definition)).step_nos;
  insert into workflow.workflow_version (workflow_def_id, workflow, version, definition, definition_sha256, change_request_id, merged_by, merged_at)
  values (v_def, p_workflow, p_version, p_revision.definition, p_revision.definition_sha256, p_revision.change_request_id, p_principal, internal.now());
  insert into workflow.workflow_step_relations (workflow_def_id, relation_no, from_no, to_no, relation_kind, condition, reads_outputs, label_en, label_vi)
  select v_def, r.i::int, v_nos[f.i], v_nos[t.i], coalesce(r.doc ->> 'kind', 'trigger'), (r.doc ->> 'when')::jsonpath,
         coalesce(workflow.named_outputs(r.doc ->> 'when'), '{}'), r.doc #>> '{label,en}', r.doc #>> '{label,vi}'
    from jsonb_array_elements(coalesce(v_definition -> 'relations', '[]')) with ordinality r (doc, i)
    join jsonb_array_elements(v_definition -> 'steps') with ordinality f (doc, i) on f.doc ->> 'key' = r.doc ->> 'from'
    join jsonb_array_elements(v_definition -> 'steps') with ordinality t (doc, i) on t.doc ->> 'key' = r.doc ->> 'to';
  insert into workflow.workflow_step_def (
    step_def_id, workflow_def_id, step_no, step_key, name_en, name_vi, optional, milestone, executor_class, sub_workflow_def_id, pic_rule, precondition, postcondition,
    output_contract, deadline, retry_policy, params, reads_outputs, lane, category, unit_address, joins_and, joins_or, joins_plain, has_tasks)
  select internal.derived_uuid(v_def, p.step_key), v_def, v_nos[p.step_index], p.step_key, p.doc #>> '{title,en}', p.doc #>> '{title,vi}',
         coalesce((p.doc -> 'optional')::boolean, false), coalesce((p.doc -> 'milestone')::boolean, false),
         case when p.doc ? 'sub_workflow' then 'sub_workflow' else coalesce(p.doc ->> 'executor', 'human') end, g.current_def_id,
         coalesce(p.doc -> 'pic', '{"starter": true}'), (p.doc ->> 'precondition')::jsonpath, (p.doc ->> 'postcondition')::jsonpath, p.doc -> 'output',
         (p.doc ->> 'deadline')::interval, coalesce(p.doc ->> 'retry', 'standard'), coalesce(p.doc -> 'with', '{}'),
         workflow.reads_of(p.doc), p.doc ->> 'lane', p.doc ->> 'category', p.doc ->> 'unit',
         coalesce(w.ands, 0), coalesce(w.ors, 0), coalesce(w.plains, 0), coalesce(jsonb_array_length(p.doc -> 'tasks'), 0) > 0
    from workflow.parts_of(v_definition) p
    left join workflow.workflow_registry g on g.workflow = p.doc ->> 'sub_workflow'
    left join (select r.to_no, count(*) filter (where r.relation_kind = 'and') as ands, count(*) filter (where r.relation_kind = 'or') as ors,
                      count(*) filter (where r.relation_kind not in ('and', 'or')) as plains
                 from workflow.workflow_step_relations r where r.workflow_def_id = v_def group by r.to_no) w on w.to_no = v_nos[p.step_index]
   where p.part = 'step'
   order by v_nos[p.step_index];
  insert into workflow.workflow_task_def (
    task_def_id, step_def_id, task_no, task_key, name_en, name_vi, executor_class, pic_rule, precondition, postcondition, output_contract, deadline, retry_policy, params, reads_outputs)
  select internal.derived_uuid(v_def, p.step_key || '/' || (p.doc ->> 'key')), internal.derived_uuid(v_def, p.step_key), p.task_index, p.doc ->> 'key',
         p.doc #>> '{title,en}', p.doc #>> '{title,vi}', coalesce(p.doc ->> 'executor', 'human'), coalesce(p.doc -> 'pic', '{"starter": true}'),
         (p.doc ->> 'precondition')::jsonpath, (p.doc ->> 'postcondition')::jsonpath, p.doc -> 'output', (p.doc ->> 'deadline')::interval,
         coalesce(p.doc ->> 'retry', 'standard'), coalesce(p.doc -> 'with', '{}'), workflow.reads_of(p.doc)
    from workflow.parts_of(v_definition) p where p.part = 'task';
  insert into workflow.workflow_step_permission (step_def_id, actor_class)
  select distinct internal.derived_uuid(v_def, p.step_key), v from workflow.parts_of(v_definition) p, jsonb_array_elements_text(p.doc -> 'visible_to') v
   where p.part = 'step' and p.doc ? 'visible_to';
  return v_def;
end
$$;
