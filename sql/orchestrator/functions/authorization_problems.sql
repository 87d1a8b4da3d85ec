-- owner: chancery_guard
-- promise: what keeps a document from authorizing exactly this gate of this run, as problems, each naming the field; an empty array when
--          nothing does. An approval that this gate used already counts as given.
create or replace function orchestrator.authorization_problems(p_run_id uuid, p_gate text, p_approval_id uuid, p_path text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run orchestrator.run;
  v_request approval.approval_request;
  v_document record;
  v_said jsonb;
  v_expected jsonb;
  v_problems jsonb;
begin
  select r.* into v_run from orchestrator.run r where r.run_id = p_run_id;
  select q.* into v_request from approval.approval_request q where q.approval_id = p_approval_id;
  if not found then
    return internal.problem('RO004', jsonb_build_object('run_id', v_run.run_name, 'gate', p_gate, 'differs_in', 'approval_id', 'expected', null, 'found', p_approval_id));
  end if;
  select k.kind, k.body into v_document from kb.revision k where k.path = p_path order by k.revision desc limit 1;
  v_said := orchestrator.json_block(v_document.body);
  if v_said is null or v_document.kind <> 'approval' then
    return internal.problem('RO004', jsonb_build_object('run_id', v_run.run_name, 'gate', p_gate, 'differs_in', 'document', 'expected', 'approval', 'found', p_path));
  end if;
  v_expected := orchestrator.binding(p_run_id, p_gate)
    || jsonb_build_object('approval_id', p_approval_id, 'nonce', v_request.facts::jsonb -> 'nonce', 'expires_at', internal.micros(v_request.expires_at), 'authorizes', true);
  v_problems := (
    select jsonb_agg(internal.problem('RO004', jsonb_build_object(
             'run_id', v_run.run_name, 'gate', p_gate, 'differs_in', e.key, 'expected', e.value, 'found', v_said -> e.key)) -> 0 order by e.key)
      from jsonb_each(v_expected) e where v_said -> e.key is distinct from e.value);
  if v_problems is not null then
    return v_problems;
  end if;
  -- What was asked for is what stands now: a request from before a change asks for something else.
  v_problems := (
    select jsonb_agg(internal.problem('RO004', jsonb_build_object(
             'run_id', v_run.run_name, 'gate', p_gate, 'differs_in', e.key, 'expected', e.value, 'found', v_request.facts::jsonb -> e.key)) -> 0 order by e.key)
      from jsonb_each(orchestrator.binding(p_run_id, p_gate)) e where v_request.facts::jsonb -> e.key is distinct from e.value);
  if v_problems is not null then
    return v_problems;
  end if;
  if not orchestrator.signed_by_sovereign(p_path, p_gate) then
    return internal.problem('RO004', jsonb_build_object(
      'run_id', v_run.run_name, 'gate', p_gate, 'differs_in', 'signature', 'expected', 'sovereign', 'found', p_path));
  end if;
  if exists (select from approval.approval_use u where u.approval_id = p_approval_id and u.used_for_kind = 'orchestrator_run'
                and u.used_for_ref = v_run.run_name || '/' || p_gate) then
    return '[]';
  end if;
  v_problems := approval.problem(p_approval_id, orchestrator.approval_kind(p_gate), v_run.run_name, sha256(convert_to(v_request.facts, 'UTF8')));
  -- What was signed with a key that is revoked by now was good then. Nothing rests on it yet, so it is asked for again.
  if v_problems is null and not orchestrator.signed_by_sovereign(p_path, p_gate, p_by_live_key => true) then
    return internal.problem('RO004', jsonb_build_object(
      'run_id', v_run.run_name, 'gate', p_gate, 'differs_in', 'signature', 'expected', 'a key that is not revoked', 'found', p_path));
  end if;
  return coalesce(v_problems, '[]');
end
$$;
