-- promise: the summary stands as the newest of its subject, or its problems are returned and nothing is written. The same key again gives
--          what stands.
-- callers: governance.fn_summary_put, governance.fn_summaries_run
-- locks: the subject (its turn): what came before cannot change meanwhile
create or replace function governance.put_summary(p_put jsonb, p_principal text, p_idempotency_key text) returns jsonb
language plpgsql
as $$
declare
  v_prior governance.status_summary;
  v_known governance.status_summary;
  v_flips boolean;
  v_problems jsonb;
begin
  perform internal.take_turn('governance.status_summary:' || coalesce(p_put ->> 'category', '') || ':' || coalesce(p_put ->> 'subject', ''));
  select s.* into v_known from governance.status_summary s where s.idempotency_key = p_idempotency_key;
  if found then
    if (v_known.category, v_known.subject, v_known.state, v_known.text_en, v_known.put_by) is distinct from
       (p_put ->> 'category', p_put ->> 'subject', p_put ->> 'state', p_put ->> 'text_en', p_principal) then
      return jsonb_build_object('ok', false, 'problems', internal.problem('RS012', jsonb_build_object(
        'idempotency_key', p_idempotency_key, 'used_for_seq', 1, 'differs_in', '["evidence"]'::jsonb)));
    end if;
    return governance.summary_report(v_known, true);
  end if;
  select s.* into v_prior from governance.status_summary s
   where s.category = p_put ->> 'category' and s.subject = p_put ->> 'subject'
   order by s.created_at desc, s.summary_id desc limit 1;
  v_problems := governance.summary_problems(p_put, (select p.kind from identity.principal p where p.name = p_principal), v_prior);
  if v_problems is not null then
    return jsonb_build_object('ok', false, 'problems', v_problems);
  end if;
  v_flips := p_put ->> 'state' = 'green' and coalesce(v_prior.state in ('red', 'yellow'), false);
  insert into governance.status_summary (
    summary_id, category, subject, state, text_en, text_vi, facts, source_event_count, source_event_total, source_event_refs, window_start, window_end,
    summarizer_kind, summarizer_ref, summarizer_version, confidence, low_confidence, trace_id, prior_summary_id, resolved_by_event_id, put_by, idempotency_key,
    created_at)
  values (
    internal.uuid_v7(), p_put ->> 'category', p_put ->> 'subject', p_put ->> 'state', p_put ->> 'text_en', p_put ->> 'text_vi',
    internal.canonical_json(coalesce(p_put -> 'facts', '{}')), (p_put -> 'source_event_count')::bigint,
    coalesce((p_put ->> 'source_event_total')::bigint, (p_put -> 'source_event_count')::bigint),
    array(select r.ref from jsonb_array_elements_text(p_put -> 'source_event_refs') with ordinality r (ref, n) order by r.n),
    workflow.time_or_null(p_put #>> '{time_window,start_at}'), workflow.time_or_null(p_put #>> '{time_window,end_at}'),
    p_put #>> '{generated_by,summarizer_kind}', p_put #>> '{generated_by,summarizer_ref}', p_put #>> '{generated_by,summarizer_version}',
    (p_put ->> 'confidence')::numeric, governance.is_low_confidence(p_put), p_put ->> 'trace_id', v_prior.summary_id,
    case when v_flips then internal.uuid_or_null(p_put ->> 'resolved_by') end, p_principal, p_idempotency_key, internal.now())
  returning * into v_known;
  return governance.summary_report(v_known, false);
end
$$;
