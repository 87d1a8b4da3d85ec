-- promise: the rules allow this move of the entry as things stand; asked before long work, and again by the move itself.
-- refuses with: what the move would
create or replace function cutter_governance.require_allowed(
  p_entry cutter_governance.decision_backlog_entry, p_to_state text, p_actor_class text, p_trigger_ref text, p_principal text, p_evidence jsonb
) returns void
language plpgsql
as $$
declare
  v_verdict fsm.verdict;
begin
  perform fsm.lock_room_reads('cut_request', p_entry.entry_id, array['review_decision', 'dependencies', 'change_set']);
  v_verdict := fsm.evaluate('cut_request', p_entry.entry_id, fsm.run_peek('cut_request', p_entry.entry_id), null, p_to_state, p_actor_class, 'rpc',
                            p_trigger_ref, p_evidence, p_principal, null, null);
  if v_verdict.problems is not null then
    -- What it waits for has a name, and so has what it rested on.
    perform internal.refuse(coalesce(cutter_governance.revoked_decision(internal.uuid_or_null(p_evidence ->> 'review_decision_id')), '[]') || (
      select jsonb_agg(p.problem || case when p.problem ->> 'guard' = 'G-CUT-DEPS' then jsonb_build_object('blockers', (
               select jsonb_agg(jsonb_build_object('entry_id', e.entry_id, 'document_id', e.document_id, 'status', e.status) order by e.emitted_at, e.entry_id)
                 from cutter_governance.decision_backlog_dependency d
                 join cutter_governance.decision_backlog_entry e on e.entry_id = d.to_entry_id
                where d.from_entry_id = p_entry.entry_id and d.dependency_kind = 'blocks' and e.status <> 'verified_complete')) else '{}' end order by p.n)
        from jsonb_array_elements(v_verdict.problems) with ordinality p (problem, n)));
  end if;
end
$$;
