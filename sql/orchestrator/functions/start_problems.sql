-- promise: what a run of the document would fail at later and can be known before it begins, as problems, all of them; an empty array when
--          nothing is known to stand in its way. What fails here costs nothing: there is no run yet to be voided.
-- callers: orchestrator.fn_orchestrate_start
create or replace function orchestrator.start_problems(p_document_id text, p_principal text, p_plan jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_max constant integer := (select (c.value #>> '{}')::integer from config.dot_config c where c.key = 'orchestrator.max_candidates_per_doc');
  v_strays jsonb := orchestrator.stray_units(p_document_id, '{}');
  v_cuts jsonb;
  v_words jsonb;
  v_problems jsonb := '[]';
begin
  if not exists (select from orchestrator.backup_key) then
    v_problems := v_problems || internal.problem('RO013', jsonb_build_object(
      'document_id', p_document_id, 'check', 'backup_key', 'found', null, 'needed', 'a pinned OpenPGP key', 'way', 'cutter orchestrate backup-key FILE'));
  end if;
  if v_strays <> '[]' then
    v_problems := v_problems || internal.problem('RO013', jsonb_build_object(
      'document_id', p_document_id, 'check', 'addresses_free', 'found', v_strays, 'needed', 'no unit below the prefix of the document',
      'way', v_strays -> 0 -> 'way'));
  end if;
  -- G-CUT-ONCE, asked before: the newest version is cut already and nothing took that back.
  v_cuts := (
    select jsonb_agg(jsonb_build_object(
             'change_set_id', c.change_set_id, 'entry_id', e.entry_id, 'status', e.status, 'cut_by', c.emitted_by,
             'way', case when e.status = 'cut_applied' then 'chancery cutter abandon ' || e.entry_id || ' --reason TEXT'
                         else 'add a new version: chancery doc add FILE --id ' || p_document_id end) order by c.emitted_at, c.change_set_id)
      from cutter_governance.decision_backlog_entry e
      join cutter_governance.cut_change_set c on c.decision_backlog_entry_id = e.entry_id and c.change_kind = 'apply'
     where e.source_version_id = (
             select v.source_version_id from iu.source_version v where v.document_id = p_document_id order by v.version_seq desc limit 1)
       and not exists (select from cutter_governance.cut_change_set r where r.rollback_of_change_set_id = c.change_set_id));
  if v_cuts is not null then
    v_problems := v_problems || internal.problem('RO013', jsonb_build_object(
      'document_id', p_document_id, 'check', 'cut_once', 'found', v_cuts, 'needed', 'no cut of this version that stands', 'way', v_cuts -> 0 -> 'way'));
  end if;
  if exists (select from identity.principal p where p.name = p_principal and 'verifier_dot992' = any (p.actor_classes)) then
    v_problems := v_problems || internal.problem('RO013', jsonb_build_object(
      'document_id', p_document_id, 'check', 'lanes_apart', 'found', p_principal, 'needed', 'an executor that is no verifier',
      'way', 'cutter orchestrate start ' || p_document_id || ' --as ANOTHER'));
  end if;
  if (p_plan ->> 'units')::bigint > v_max then
    v_problems := v_problems || internal.problem('RO013', jsonb_build_object(
      'document_id', p_document_id, 'check', 'unit_limit', 'found', p_plan -> 'units', 'needed', v_max,
      'way', 'divide the document, or raise orchestrator.max_candidates_per_doc'));
  end if;
  v_words := (select jsonb_agg(w.value order by w.value) from jsonb_array_elements_text(p_plan -> 'vocabulary') w
               where not exists (select from config.dot_config c where c.key = 'vocab.' || w.value));
  if v_words is not null then
    v_problems := v_problems || internal.problem('RO013', jsonb_build_object(
      'document_id', p_document_id, 'check', 'vocabulary', 'found', v_words, 'needed', 'words that the settings know',
      'way', 'choose known words with --unit-kind and --publication-type'));
  end if;
  return v_problems;
end
$$;
