-- promise: what somebody who wants to listen to these topics listens to, and needs: {position, topics: [{topic, key, permission}]}. Position
--          is the last one there is: what is told from now on comes behind it. A run is named as `run:KIND:ID`, or `run::ID` when only its UUID is known.
-- callers: chancery_app
-- refuses with: RS001 no such run, RW001 no such workflow
create or replace function event.fn_feed_topics(p_topics text[]) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_topic text;
  v_kind text;
  v_id uuid;
  v_topics jsonb := '[]';
begin
  foreach v_topic in array p_topics loop
    if v_topic in ('problems', 'inbox', 'approvals') then
      v_topics := v_topics || jsonb_build_object('topic', v_topic, 'key', v_topic, 'permission',
        case v_topic when 'problems' then 'problems.read' when 'inbox' then 'self.read' else 'approval.read' end);
    elsif v_topic like 'workflow:%' then
      if not exists (select from workflow.workflow_registry w where w.workflow = substr(v_topic, 10)) then
        perform internal.refuse(internal.problem('RW001', jsonb_build_object('kind', 'workflow', 'id', substr(v_topic, 10))));
      end if;
      v_topics := v_topics || jsonb_build_object('topic', v_topic, 'key', v_topic, 'permission', 'workflow.read');
    else
      v_kind := split_part(v_topic, ':', 2);
      v_id := split_part(v_topic, ':', 3)::uuid;
      select k.kind into v_kind
        from (values ('workflow_run'), ('custom'), ('orchestrator_run'), ('cut_request'), ('workflow_change'), ('proposal')) k (kind)
       where v_kind in ('', k.kind)
         and case k.kind
               when 'workflow_run' then exists (select from workflow.workflow_run r where r.workflow_run_id = v_id)
               when 'custom' then exists (select from fsm.run r where r.run_id = v_id)
               when 'orchestrator_run' then exists (select from orchestrator.run r where r.run_id = v_id)
               when 'cut_request' then exists (select from cutter_governance.decision_backlog_entry e where e.entry_id = v_id)
               when 'workflow_change' then exists (select from workflow.workflow_change_requests c where c.change_request_id = v_id)
               else exists (select from governance.proposal p where p.proposal_id = v_id) end
       limit 1;
      if not found then
        perform internal.refuse(internal.problem('RS001', jsonb_build_object('run_kind', nullif(split_part(v_topic, ':', 2), ''), 'run_id', v_id)));
      end if;
      v_topics := v_topics || jsonb_build_object('topic', v_topic, 'key', 'run:' || v_id, 'permission',
        case v_kind when 'custom' then 'run.read' when 'orchestrator_run' then 'orchestrator.read' when 'cut_request' then 'entry.read'
                    else 'workflow.read' end);
    end if;
  end loop;
  return jsonb_build_object('position', coalesce((select c.last_position from event.sequencer_cursor c), 0), 'topics', v_topics);
end
$$;
