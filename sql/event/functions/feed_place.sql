-- promise: where an event is told: {run_kind, run_id, seen_by, topics}. A topic is [key, permission] or [key, permission, principal]: who
--          listens there is told of it if they have the permission, and are that principal where one is named. seen_by are the classes
--          that may see the step; null is everyone.
-- callers: event.fn_feed
-- Each branch is one look by key: this is asked for every event.
create or replace function event.feed_place(p_kind text, p_id uuid, p_from text, p_to text) returns jsonb
language plpgsql stable
as $$
declare
  v_run_kind text := p_kind;
  v_run_id uuid := p_id;
  v_step_def uuid;
  v_pic text;
  v_deadline timestamptz;
  v_word text;
  v_permission text;
  v_seen_by jsonb;
  v_topics jsonb := '[]';
begin
  if p_kind in ('step', 'task') then
    v_run_kind := 'workflow_run';
    v_permission := 'workflow.read';
    if p_kind = 'step' then
      select s.workflow_run_id, s.step_def_id, s.pic_id, s.deadline into v_run_id, v_step_def, v_pic, v_deadline from workflow.step_run s where s.step_run_id = p_id;
    else
      select t.workflow_run_id, s.step_def_id, t.pic_id, t.deadline into v_run_id, v_step_def, v_pic, v_deadline
        from workflow.task_run t join workflow.step_run s on s.step_run_id = t.step_run_id where t.task_run_id = p_id;
    end if;
    select r.workflow into v_word from workflow.workflow_run r where r.workflow_run_id = v_run_id;
    select jsonb_agg(p.actor_class order by p.actor_class) into v_seen_by from workflow.workflow_step_permission p where p.step_def_id = v_step_def;
    v_topics := v_topics || jsonb_build_array(jsonb_build_array('workflow:' || v_word, v_permission));
    -- What can be claimed lies in many inboxes, what is claimed in one.
    if 'ready' in (p_from, p_to) then
      v_topics := v_topics || '[["inbox", "work.move"]]';
    end if;
    if v_pic is not null then
      v_topics := v_topics || jsonb_build_array(jsonb_build_array('inbox', v_permission, v_pic));
    end if;
    -- Whatever late work does, it comes into the list of overdue work, changes there, or leaves it.
    if array[p_from, p_to] && array['overdue', 'blocked', 'waiting'] or v_deadline <= internal.now() then
      v_topics := v_topics || '[["problems", "problems.overdue_step"]]';
    end if;
  elsif p_kind = 'workflow_run' then
    v_permission := 'workflow.read';
    select r.workflow into v_word from workflow.workflow_run r where r.workflow_run_id = p_id;
    v_topics := v_topics || jsonb_build_array(jsonb_build_array('workflow:' || v_word, v_permission)) || '[["problems", "problems.orphan_workflow"]]';
  elsif p_kind = 'workflow_change' then
    v_permission := 'workflow.read';
    select c.workflow into v_word from workflow.workflow_change_requests c where c.change_request_id = p_id;
    v_topics := v_topics || jsonb_build_array(jsonb_build_array('workflow:' || v_word, v_permission)) || '[["approvals", "approval.read"]]';
  elsif p_kind = 'proposal' then
    v_permission := 'workflow.read';
    v_topics := v_topics || '[["approvals", "approval.read"]]';
  elsif p_kind = 'custom' then
    v_permission := 'run.read';
  elsif p_kind = 'orchestrator_run' then
    v_permission := 'orchestrator.read';
    if starts_with(p_from, 'failed_') or starts_with(p_to, 'failed_') then
      v_topics := v_topics || '[["problems", "problems.failed_cut"]]';
    end if;
  elsif p_kind = 'cut_request' then
    v_permission := 'entry.read';
    if 'verify_failed_escalated' in (p_from, p_to) then
      v_topics := v_topics || '[["problems", "problems.failed_cut"]]';
    end if;
  elsif p_kind = 'job' then
    v_topics := v_topics || '[["problems", "problems.dlq"]]';
  elsif p_kind = 'dlq_replay' then
    v_topics := v_topics || '[["problems", "problems.dlq"], ["approvals", "approval.read"]]';
  elsif p_kind = 'finding' then
    -- Findings about the operation are of no category of the page.
    select nullif(i.issue_class, 'operation') into v_word from governance.system_issues i where i.issue_id = p_id;
    v_topics := v_topics || jsonb_build_array(jsonb_build_array('problems', 'problems.' || coalesce(v_word, 'read')));
  end if;
  if v_permission is not null then
    v_topics := v_topics || jsonb_build_array(jsonb_build_array('run:' || v_run_id, v_permission));
  end if;
  return jsonb_build_object('run_kind', v_run_kind, 'run_id', v_run_id, 'seen_by', v_seen_by, 'topics', v_topics);
end
$$;
