-- promise: what is wrong with a summary as somebody wants to put it; null when nothing is. Without sources there is no summary, what it rests
--          on exists and lies in its window, an agent says how sure it is, and a problem ends only by an event and only when the database
--          no longer sees it. Values are not repeated where they could be long.
create or replace function governance.summary_problems(p_put jsonb, p_principal_kind text, p_prior governance.status_summary) returns jsonb
language plpgsql stable
as $$
declare
  v_refs jsonb := p_put -> 'source_event_refs';
  v_by jsonb := p_put -> 'generated_by';
  v_kind text := v_by ->> 'summarizer_kind';
  v_start timestamptz := workflow.time_or_null(p_put #>> '{time_window,start_at}');
  v_end timestamptz := workflow.time_or_null(p_put #>> '{time_window,end_at}');
  v_about jsonb := jsonb_build_object('event_type', 'status_summary', 'category', left(p_put ->> 'category', 100), 'subject', left(p_put ->> 'subject', 200));
  v_field text;
  v_expected text;
  v_bad jsonb;
  v_why text;
begin
  select f.field, f.expected into v_field, v_expected
    from (values
      (1, 'summary', 'an object with the fields of the page and no others', jsonb_typeof(p_put) = 'object' and not exists (
         select from jsonb_object_keys(case when jsonb_typeof(p_put) = 'object' then p_put else '{}' end) k
          where k <> all ('{category,subject,state,text_en,text_vi,facts,source_event_count,source_event_total,source_event_refs,time_window,generated_by,confidence,trace_id,resolved_by}'))),
      (2, 'category', 'one of the eight, or executors', p_put ->> 'category' = any (governance.categories() || 'executors'::text)),
      (3, 'subject', '* or the name of one item, at most 500 bytes', jsonb_typeof(p_put -> 'subject') = 'string' and not internal.is_blank(p_put ->> 'subject')
         and octet_length(p_put ->> 'subject') <= 500),
      (4, 'state', 'green, yellow or red', p_put ->> 'state' in ('green', 'yellow', 'red')),
      (5, 'text_en', 'a line of at most 500 bytes', jsonb_typeof(p_put -> 'text_en') = 'string' and not internal.is_blank(p_put ->> 'text_en') and octet_length(p_put ->> 'text_en') <= 500
         and p_put ->> 'text_en' !~ E'[\n\r]'),
      (6, 'text_vi', 'a line of at most 500 bytes', jsonb_typeof(p_put -> 'text_vi') = 'string' and not internal.is_blank(p_put ->> 'text_vi') and octet_length(p_put ->> 'text_vi') <= 500
         and p_put ->> 'text_vi' !~ E'[\n\r]'),
      (7, 'facts', 'an object of at most 8192 bytes without contents or secrets', not p_put ? 'facts' or (jsonb_typeof(p_put -> 'facts') = 'object'
         and octet_length((p_put -> 'facts')::text) <= 8192 and event.denied_keys(p_put -> 'facts') is null)),
      (8, 'generated_by', 'summarizer_kind (sql_fn, ai_agent or deterministic_rule), summarizer_ref and summarizer_version', coalesce(
         v_kind in ('sql_fn', 'ai_agent', 'deterministic_rule') and not internal.is_blank(v_by ->> 'summarizer_ref') and octet_length(v_by ->> 'summarizer_ref') <= 200
         and not internal.is_blank(v_by ->> 'summarizer_version') and octet_length(v_by ->> 'summarizer_version') <= 100, false)),
      (9, 'summarizer_kind', 'ai_agent, where an agent says it', p_principal_kind = 'service' or v_kind = 'ai_agent'),
      (10, 'time_window', 'start_at and end_at, in this order and not in the future', coalesce(v_start <= v_end and v_end <= internal.now() + interval '1 minute', false)),
      (11, 'confidence', 'a number from 0 to 1, or null', coalesce(jsonb_typeof(p_put -> 'confidence'), 'null') = 'null'
         or (jsonb_typeof(p_put -> 'confidence') = 'number' and (p_put -> 'confidence')::numeric between 0 and 1)),
      (12, 'trace_id', '32 hexadecimal digits', coalesce(jsonb_typeof(p_put -> 'trace_id'), 'null') = 'null' or p_put ->> 'trace_id' ~ '^[0-9a-f]{32}$'),
      (13, 'resolved_by', 'the id of an event', coalesce(jsonb_typeof(p_put -> 'resolved_by'), 'null') = 'null' or internal.uuid_or_null(p_put ->> 'resolved_by') is not null)
    ) f (n, field, expected, fits)
   where f.fits is not true
   order by f.n limit 1;
  if found then
    return internal.problem('RE044', v_about || jsonb_build_object('field', v_field, 'expected', v_expected));
  end if;
  if v_kind = 'ai_agent' and coalesce(jsonb_typeof(p_put -> 'confidence'), 'null') = 'null' then
    return internal.problem('RE048', v_about);
  end if;

  -- Sources: some, each once, all of them there, and counted honestly.
  v_why := case
    when coalesce(jsonb_typeof(v_refs), 'null') <> 'array' or jsonb_array_length(v_refs) = 0 then 'no source is named'
    when jsonb_array_length(v_refs) > 100 then 'more than 100 are named; name the first 100 and give the total'
    when exists (select from jsonb_array_elements(v_refs) r where jsonb_typeof(r) <> 'string') then 'a source is a text'
    when (select count(distinct r) from jsonb_array_elements_text(v_refs) r) < jsonb_array_length(v_refs) then 'a source is named twice'
    when coalesce(jsonb_typeof(p_put -> 'source_event_count'), 'null') <> 'number' or (p_put -> 'source_event_count')::numeric % 1 <> 0
      or (p_put -> 'source_event_count')::numeric not between 1 and 1000000000000 then 'the count is a whole number of at least 1'
    when (p_put -> 'source_event_count')::bigint < jsonb_array_length(v_refs) then 'the count is below the number of sources that are named'
    when (p_put -> 'source_event_count')::bigint > jsonb_array_length(v_refs) and coalesce(jsonb_typeof(p_put -> 'source_event_total'), 'null') <> 'number'
      then 'more are counted than named, and the total is missing'
    when jsonb_typeof(p_put -> 'source_event_total') = 'number' and ((p_put -> 'source_event_total')::numeric % 1 <> 0
      or (p_put -> 'source_event_total')::numeric not between (p_put -> 'source_event_count')::bigint and 1000000000000) then 'the total is below the count' end;
  if v_why is not null then
    return internal.problem('RE045', v_about || jsonb_build_object('why', v_why, 'unknown', '[]'::jsonb));
  end if;
  select jsonb_agg(left(r.ref, 300)) filter (where r.span is null),
         case when bool_or(r.span is not null and not r.span && tstzrange(v_start, v_end, '[]')) then 'a source lies outside of the window' end
    into v_bad, v_why
    from (select t.ref, governance.ref_span(t.ref) as span from jsonb_array_elements_text(v_refs) t (ref)) r;
  if v_bad is not null then
    return internal.problem('RE045', v_about || jsonb_build_object('why', 'a source does not exist', 'unknown', v_bad));
  elsif v_why is not null then
    return internal.problem('RE046', v_about || jsonb_build_object('why', v_why, 'start_at', internal.rfc3339(v_start), 'end_at', internal.rfc3339(v_end)));
  end if;

  -- Green is a claim that nothing is wrong. Whoever says it after red or yellow names the event that made it so.
  if p_put ->> 'state' = 'green' then
    v_why := case
      when governance.still_sees(p_put ->> 'category', p_put ->> 'subject') then 'the database still sees the problem'
      when p_prior.state in ('red', 'yellow') and governance.is_low_confidence(p_put) then 'a summary of low confidence ends no problem'
      when p_prior.state in ('red', 'yellow') and coalesce(jsonb_typeof(p_put -> 'resolved_by'), 'null') = 'null' then 'no event is named that ended the problem'
      when p_prior.state in ('red', 'yellow') and not governance.resolves(
             internal.uuid_or_null(p_put ->> 'resolved_by'), p_put ->> 'category', p_put ->> 'subject', p_prior.created_at)
        then 'the event did not end a problem of this subject after the summary before' end;
    if v_why is not null then
      return internal.problem('RE047', v_about || jsonb_build_object('why', v_why, 'was', p_prior.state));
    end if;
  end if;
  return null;
end
$$;
