-- promise: every summary of the last days that is green after red or yellow rests on the event of an end; one that does not is an open
--          finding. Gives how many were found. The doors write none of these: somebody with the rights of an administrator did.
-- callers: governance.fn_summaries_run
create or replace function governance.check_summaries(p_principal text) returns integer
language plpgsql
as $$
declare
  v_days constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'summary.check_days');
  v_summary record;
  v_found integer := 0;
begin
  for v_summary in
    select s.summary_id, s.category, s.subject, s.resolved_by_event_id, b.state as was, b.created_at as before
      from governance.status_summary s,
           lateral (select p.state, p.created_at from governance.status_summary p
                     where p.category = s.category and p.subject = s.subject and (p.created_at, p.summary_id) < (s.created_at, s.summary_id)
                     order by p.created_at desc, p.summary_id desc limit 1) b
     where s.state = 'green' and b.state in ('red', 'yellow') and s.created_at >= internal.now() - make_interval(days => v_days)
     order by s.created_at
  loop
    continue when governance.resolves(v_summary.resolved_by_event_id, v_summary.category, v_summary.subject, v_summary.before);
    continue when exists (
      select from governance.system_issues i
       where i.fingerprint = governance.fingerprint('summary_without_source', 'summary', v_summary.summary_id::text, null, null));
    perform governance.require_open(
      'summaries', 'critical', 'summary_without_source', 'integrity', format('%s %s turned green and no event says why', v_summary.category, left(v_summary.subject, 200)),
      null, 'summary', v_summary.summary_id::text,
      jsonb_build_object('category', v_summary.category, 'subject', v_summary.subject, 'was', v_summary.was, 'named_event', v_summary.resolved_by_event_id), p_principal);
    v_found := v_found + 1;
  end loop;
  return v_found;
end
$$;
