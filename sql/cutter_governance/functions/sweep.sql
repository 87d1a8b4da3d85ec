-- promise: see fn_sweep; with p_only the pass is about that one entry.
-- callers: cutter_governance.fn_sweep, orchestrator.fn_orchestrate_mark
-- arrow: marked → review_pending, reviewed_deferred → review_pending
-- locks: the sweep's turn (its turn, so that the passes form one chain), then the entries it promotes, skipping locked ones
-- refuses with: RC016 a malformed request, RS025, and whatever a move refuses
create or replace function cutter_governance.sweep(
  p_sweep_id uuid, p_actor_class text, p_principal text, p_sweep_trigger_kind text, p_limit integer, p_only uuid
) returns jsonb
language plpgsql
as $$
declare
  v_max constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'cutter.sweep.max_batch');
  v_limit integer := least(coalesce(p_limit, v_max), v_max);
  v_sweep cutter_governance.decision_backlog_sweep_log;
  v_previous record;
  v_entries uuid[];
  v_entry uuid;
  v_report jsonb;
begin
  if p_sweep_id is null or v_limit < 1 or p_sweep_trigger_kind is null or p_sweep_trigger_kind not in ('manual', 'timer') then
    perform internal.refuse(internal.problem('RC016', jsonb_build_object('limit', p_limit, 'trigger', p_sweep_trigger_kind, 'max', v_max)));
  end if;
  -- Asked here as well: a pass that finds nothing makes no move that would ask. The moves themselves need no signature: a sweep
  -- decides nothing.
  perform identity.require_actor(p_principal, p_actor_class);
  perform fsm.require_fresh_reads();
  perform internal.take_turn('cutter_governance.sweep');
  select s.* into v_sweep from cutter_governance.decision_backlog_sweep_log s where s.sweep_id = p_sweep_id;
  if found then
    return cutter_governance.sweep_report(v_sweep, true);
  end if;

  v_entries := array(
    select e.entry_id from cutter_governance.decision_backlog_entry e
     where e.status in ('marked', 'reviewed_deferred') and (p_only is null or e.entry_id = p_only)
     order by e.emitted_at, e.entry_id limit v_limit
       for update skip locked);
  select s.sweep_seq, s.row_digest into v_previous from cutter_governance.decision_backlog_sweep_log s order by s.sweep_seq desc limit 1;
  insert into cutter_governance.decision_backlog_sweep_log (
    sweep_id, sweep_seq, swept_by, sweep_trigger_kind, swept_at, batch_limit, scanned_count, created_count, promoted_count, report_summary, prev_digest)
  values (
    p_sweep_id, coalesce(v_previous.sweep_seq, 0) + 1, p_principal, p_sweep_trigger_kind, internal.now(), v_limit, cardinality(v_entries), 0, cardinality(v_entries),
    internal.canonical_json(jsonb_build_object('promoted', to_jsonb(v_entries))), v_previous.row_digest)
  returning * into v_sweep;
  foreach v_entry in array v_entries loop
    v_report := fsm.move(v_entry, 'cut_request', null, 'review_pending', p_actor_class, 'rpc', 'sweep', jsonb_build_object('sweep_id', p_sweep_id),
                         p_principal, 'sweep:' || p_sweep_id, null, internal.artefact_digest(array[v_sweep.row_digest]), null, null);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  end loop;
  return cutter_governance.sweep_report(v_sweep, false);
end
$$;
