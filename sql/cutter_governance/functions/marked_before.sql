-- promise: the entry that stands under this id or key, if it is the same request; a refusal that says why nothing was marked
--          otherwise.
-- refuses with: RC015, RS018, RI001
create or replace function cutter_governance.marked_before(p_entry_id uuid, p_payload text, p_depends_on uuid[], p_principal text) returns jsonb
language plpgsql stable
as $$
declare
  v_entry record;
begin
  select e.entry_id, e.payload, e.status, e.document_id, e.started_by, array(select d.to_entry_id from cutter_governance.decision_backlog_dependency d
                                       where d.from_entry_id = e.entry_id and d.dependency_kind = 'blocks' order by 1) as depends_on
    into v_entry
    from cutter_governance.decision_backlog_entry e
   where e.entry_id = p_entry_id or e.idempotency_key = p_payload::jsonb ->> 'idempotency_key';
  if not found then
    if not exists (select from identity.principal p where p.name = p_principal) then
      perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
    end if;
    perform internal.refuse(internal.problem('RS018', '{"machine": "cut_request", "active": []}'));
  end if;
  if v_entry.entry_id <> p_entry_id or v_entry.payload <> p_payload or v_entry.depends_on <> p_depends_on then
    perform internal.refuse(internal.problem('RC015', jsonb_build_object(
      'entry_id', p_entry_id, 'stands_for', v_entry.entry_id, 'idempotency_key', p_payload::jsonb ->> 'idempotency_key', 'status', v_entry.status,
      'document_id', v_entry.document_id, 'marked_by', v_entry.started_by, 'way', 'chancery cutter show ' || v_entry.entry_id,
      'differs_in', array_remove(array[
        case when v_entry.entry_id <> p_entry_id then 'entry_id' end, case when v_entry.payload <> p_payload then 'payload' end,
        case when v_entry.depends_on <> p_depends_on then 'depends_on' end], null))));
  end if;
  return cutter_governance.entry_report(p_entry_id, '{"replayed": true}', '{}');
end
$$;
