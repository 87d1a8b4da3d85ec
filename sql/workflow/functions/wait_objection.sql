-- promise: why a person cannot give what a step or task waits for; null when they can. The answer to a wait and the list of what waits for somebody
--          both ask here, so they cannot differ.
-- callers: workflow.fn_wait_resolve, approval.fn_inbox
create or replace function workflow.wait_objection(p_wait workflow.wait, p_work workflow.work, p_principal text, p_actor_class text) returns text
language sql stable
as $$
  select case
    when p_wait.resolved_at is not null then 'it is over'
    when not p_wait.opened or p_work.state_code <> 'waiting' then 'nobody waits'
    when p_wait.facet <> 'waiting_human' or p_wait.subject_kind is distinct from 'person' then 'it is not a person''s to give'
    when p_actor_class is null or p_actor_class not in ('pic_human', 'task_pic_human', 'reviewer', 'sovereign', 'escalation_handler') then 'it is a person''s to give'
    -- Whom the step waits for is somebody by name, or any other person.
    when p_wait.subject_ref <> p_principal and exists (select from identity.principal p where p.name = p_wait.subject_ref) then 'it is somebody else''s to give'
    when p_wait.subject_ref <> p_principal and p_work.pic_id = p_principal then 'who waits cannot answer' end
$$;
