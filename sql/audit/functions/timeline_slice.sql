-- promise: the first rows of the timeline from a moment to another, both included, behind a key of the first moment; each with its place.
--          One statement for each way of asking, so that each has a plan of its own.
-- callers: audit.timeline_page
create or replace function audit.timeline_slice(
  p_reader text, p_runs uuid[], p_entity_kind text, p_entity_id text, p_from timestamptz, p_to timestamptz, p_key text, p_limit integer
) returns jsonb
language plpgsql stable
as $$
declare
  v_all constant boolean := identity.permits(p_reader, 'audit.read');
  v_rows jsonb;
begin
  if p_runs is not null then
    select jsonb_agg(to_jsonb(s) order by s.at, s.entry_key) into v_rows
      from (select t.at, t.source, t.entry_key, t.trace_id, t.correlation_id, t.entity_kind, t.entity_id, t.seq, t.from_state, t.to_state, t.event_type, t.event_id,
                   t.principal, t.actor_class, t.signed, t.reason
              from audit.vw_audit_event_timeline t
             where t.run_id = any (p_runs) and t.at >= p_from and t.at <= p_to and (p_key is null or t.at > p_from or t.entry_key > p_key)
               and (v_all or t.principal = p_reader or audit.is_in_charge(p_reader, t.entity_kind, t.run_id))
             order by t.at, t.entry_key limit p_limit) s;
  elsif p_entity_id is not null then
    select jsonb_agg(to_jsonb(s) order by s.at, s.entry_key) into v_rows
      from (select t.at, t.source, t.entry_key, t.trace_id, t.correlation_id, t.entity_kind, t.entity_id, t.seq, t.from_state, t.to_state, t.event_type, t.event_id,
                   t.principal, t.actor_class, t.signed, t.reason
              from audit.vw_audit_event_timeline t
             where t.entity_id = p_entity_id and t.entity_kind = p_entity_kind and t.at >= p_from and t.at <= p_to
               and (p_key is null or t.at > p_from or t.entry_key > p_key)
               and (v_all or t.principal = p_reader or audit.is_in_charge(p_reader, t.entity_kind, t.run_id))
             order by t.at, t.entry_key limit p_limit) s;
  else
    select jsonb_agg(to_jsonb(s) order by s.at, s.entry_key) into v_rows
      from (select t.at, t.source, t.entry_key, t.trace_id, t.correlation_id, t.entity_kind, t.entity_id, t.seq, t.from_state, t.to_state, t.event_type, t.event_id,
                   t.principal, t.actor_class, t.signed, t.reason
              from audit.vw_audit_event_timeline t
             where t.at >= p_from and t.at <= p_to and (p_key is null or t.at > p_from or t.entry_key > p_key)
               and (v_all or t.principal = p_reader or audit.is_in_charge(p_reader, t.entity_kind, t.run_id))
             order by t.at, t.entry_key limit p_limit) s;
  end if;
  return (select coalesce(jsonb_agg(jsonb_build_object(
            'at', internal.rfc3339((r.item ->> 'at')::timestamptz), 'micros', internal.micros((r.item ->> 'at')::timestamptz), 'source', r.item -> 'source',
            'key', r.item -> 'entry_key', 'trace_id', r.item -> 'trace_id', 'correlation_id', r.item -> 'correlation_id', 'entity_kind', r.item -> 'entity_kind',
            'entity_id', r.item -> 'entity_id', 'seq', r.item -> 'seq', 'from', r.item -> 'from_state', 'to', r.item -> 'to_state',
            'event_type', r.item -> 'event_type', 'event_id', r.item -> 'event_id', 'principal', r.item -> 'principal', 'actor_class', r.item -> 'actor_class',
            'signed', r.item -> 'signed', 'reason', r.item -> 'reason') order by r.n), '[]')
            from jsonb_array_elements(v_rows) with ordinality r (item, n));
end
$$;
