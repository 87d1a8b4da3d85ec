-- promise: true when the event ended a problem of the subject after the moment: its name says resolved, recovered or healed, and it is about
--          a finding of the category, or about what the subject names.
create or replace function governance.resolves(p_event_id uuid, p_category text, p_subject text, p_after timestamptz) returns boolean
language plpgsql stable
as $$
declare
  v_event jsonb := governance.find_event(p_event_id);
  v_subject uuid := (v_event ->> 'subject_id')::uuid;
begin
  if v_event is null or v_event ->> 'event_type' !~ '[._](resolved|recovered|healed)(_|$)' or (v_event ->> 'at')::timestamptz <= p_after then
    return false;
  end if;
  return coalesce(case v_event ->> 'subject_kind'
    when 'finding' then (
      select case when p_category = 'executors' then i.issue_class in ('dlq', 'silent_worker') and split_part(i.entity_code, '/', 1) = p_subject
                  else i.issue_class = p_category
                       and (p_subject in ('*', i.entity_code, 'finding:' || i.issue_id)) end
        from governance.system_issues i where i.issue_id = v_subject)
    when 'job' then (
      select p_category = 'dlq' and p_subject in ('*', d.job_id::text) or p_category = 'executors' and p_subject = d.executor_class
        from queue.job_dead_letter d where d.job_id = v_subject)
    else p_category in ('overdue_step', 'orphan_workflow', 'failed_cut')
         and p_subject in (v_subject::text, (v_event ->> 'subject_kind') || ':' || v_subject)
  end, false);
end
$$;
