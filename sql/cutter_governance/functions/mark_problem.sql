-- promise: what is wrong with a request before it is marked, as facts; null when nothing is.
create or replace function cutter_governance.mark_problem(p_entry_id uuid, p_kind text, p_payload jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_spec jsonb := p_payload -> 'proposed_cut_spec';
  v_source record;
begin
  if p_entry_id is null then
    return '{"field": "entry_id"}';
  elsif p_kind is null or p_kind not in ('cut_request', 'escalation') then
    return jsonb_build_object('field', 'kind', 'given', p_kind);
  elsif jsonb_typeof(p_payload) is distinct from 'object' then
    return '{"field": "payload"}';
  elsif internal.is_blank(p_payload ->> 'idempotency_key') or length(p_payload ->> 'idempotency_key') > 200 then
    return '{"field": "payload.idempotency_key"}';
  elsif internal.is_blank(p_payload ->> 'signal_source') then
    return '{"field": "payload.signal_source"}';
  elsif internal.is_blank(p_payload ->> 'iu_ref') then
    return '{"field": "payload.iu_ref"}';
  elsif (p_kind = 'escalation') <> (p_payload ? 'escalation_of') then
    return '{"field": "payload.escalation_of"}';
  elsif p_kind = 'escalation' and not exists (
      select from cutter_governance.decision_backlog_entry e
       where e.entry_id = case when p_payload ->> 'escalation_of' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                               then (p_payload ->> 'escalation_of')::uuid end) then
    return jsonb_build_object('field', 'payload.escalation_of', 'given', p_payload -> 'escalation_of');
  elsif jsonb_typeof(v_spec) is distinct from 'object' then
    return '{"field": "payload.proposed_cut_spec"}';
  end if;
  select v.document_id, v.content_sha256 into v_source
    from iu.source_version v where v.source_version_id = internal.uuid_or_null(v_spec ->> 'source_version_id');
  if not found then
    return jsonb_build_object('field', 'payload.proposed_cut_spec.source_version_id', 'given', v_spec -> 'source_version_id');
  elsif v_source.document_id is distinct from v_spec ->> 'document_id' then
    return jsonb_build_object('field', 'payload.proposed_cut_spec.document_id', 'given', v_spec -> 'document_id', 'expected', v_source.document_id);
  elsif p_kind = 'cut_request' and encode(v_source.content_sha256, 'hex') is distinct from v_spec ->> 'content_sha256' then
    -- An escalation repeats what was asked for: that the source is no longer that may be why it is opened.
    return jsonb_build_object('field', 'payload.proposed_cut_spec.content_sha256', 'given', v_spec -> 'content_sha256',
                              'expected', encode(v_source.content_sha256, 'hex'));
  end if;
  return null;
end
$$;
