-- promise: a change of a workflow, or a new one, stands as a draft with this definition; an existing draft of the same writer gets it as
--          its next revision. What is wrong with a definition is said now. The same again changes nothing.
-- callers: chancery_app (who may propose, by the machine), signed where a person's move is
-- arrow: ∅ → draft
-- locks: the request (its turn)
-- refuses with: RW003 the definition, RW005 it is no draft of this writer, RW026 the request, RW028 steps are missing that the writer may not see,
--               RI001–RI008, RI051, RS018
create or replace function workflow.fn_workflow_propose(
  p_change_request_id uuid, p_definition jsonb, p_title text, p_principal text, p_actor_class text, p_idempotency_key text, p_evidence jsonb,
  p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_change workflow.workflow_change_requests;
  v_machine record;
  v_text text;
  v_problems jsonb;
  v_dropped bigint;
  v_newest workflow.change_revision;
  v_report jsonb;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  -- Only what begins a request moves it.
  if p_signature is not null and not exists (select from workflow.workflow_change_requests c where c.change_request_id = p_change_request_id) then
    v_verified := (
      select fsm.require_move_signature('workflow_change', p_change_request_id, m.initial_state, p_actor_class, 'rpc', 'propose', p_evidence, p_principal,
                                        p_idempotency_key, null, p_key_id, p_signature, m.state_machine_id)
        from fsm.state_machine_def m where m.scope = 'proposal' and m.active);
  end if;
  perform internal.take_turn('workflow_change:' || p_change_request_id);
  v_problems := workflow.definition_problems(p_definition);
  if v_problems <> '[]' then
    perform internal.refuse(internal.problem('RW003', jsonb_build_object('problems', v_problems)));
  end if;
  -- Who reads a workflow without the steps for others' eyes and writes it back would drop them, and not know it.
  select count(*) into v_dropped
    from (select unnest(workflow.hidden_keys(g.current_def_id, p_principal)) as key from workflow.workflow_registry g where g.workflow = p_definition ->> 'workflow'
          union
          select unnest(workflow.hidden_in(r.definition::jsonb, p_principal))
            from (select r.definition from workflow.change_revision r where r.change_request_id = p_change_request_id order by r.revision_no desc limit 1) r) h
   where not exists (select from jsonb_array_elements(p_definition -> 'steps') s where s ->> 'key' = h.key);
  if v_dropped > 0 then
    perform internal.refuse(internal.problem('RW028', jsonb_build_object('workflow', p_definition -> 'workflow', 'missing', v_dropped)));
  end if;
  v_text := internal.canonical_json(p_definition);
  select c.* into v_change from workflow.workflow_change_requests c where c.change_request_id = p_change_request_id;
  if not found then
    if p_change_request_id is null or internal.is_blank(p_title) or p_evidence ->> 'definition_sha256' is distinct from encode(sha256(convert_to(v_text, 'UTF8')), 'hex') then
      perform internal.refuse(internal.problem('RW026', jsonb_build_object('change_request_id', p_change_request_id, 'title', p_title,
        'expected', 'an id, a title, and the digest of the definition in the evidence')));
    end if;
    select m.state_machine_id, m.initial_state into v_machine from fsm.state_machine_def m where m.scope = 'proposal' and m.active;
    if not found then
      perform internal.refuse(internal.problem('RS018', '{"machine": "proposal", "active": []}'));
    end if;
    insert into workflow.workflow_change_requests (
      change_request_id, workflow, base_version, state_machine_id, proposal_state, seq, title, started_by, trace_id, correlation_id, created_at, last_transition_at)
    values (p_change_request_id, p_definition ->> 'workflow', (select g.current_version from workflow.workflow_registry g where g.workflow = p_definition ->> 'workflow'),
            v_machine.state_machine_id, v_machine.initial_state, 0, p_title, p_principal, replace(p_change_request_id::text, '-', ''), p_change_request_id::text,
            internal.now(), internal.now());
    v_report := fsm.move(p_change_request_id, 'workflow_change', null, v_machine.initial_state, p_actor_class, 'rpc', 'propose', p_evidence, p_principal, p_idempotency_key,
                         null,
                         (select internal.artefact_digest(array[c.row_digest]) from workflow.workflow_change_requests c where c.change_request_id = p_change_request_id),
                         p_key_id, p_signature, p_verified => v_verified);
    if v_report -> 'ok' = 'false' then
      perform internal.refuse(v_report -> 'problems');
    end if;
  elsif v_change.proposal_state <> 'draft' or v_change.started_by <> p_principal or v_change.workflow is distinct from p_definition ->> 'workflow' then
    select r.* into v_newest from workflow.change_revision r where r.change_request_id = p_change_request_id order by r.revision_no desc limit 1;
    if v_newest.definition::text is distinct from v_text or v_change.started_by <> p_principal then
      perform internal.refuse(internal.problem('RW005', jsonb_build_object(
        'change_request_id', p_change_request_id, 'state', v_change.proposal_state, 'proposer', v_change.started_by, 'workflow', v_change.workflow)));
    end if;
  end if;
  insert into workflow.change_revision (change_request_id, revision_no, definition, definition_sha256, written_by, written_at)
  select p_change_request_id, coalesce(max(r.revision_no), 0) + 1, v_text, sha256(convert_to(v_text, 'UTF8')), p_principal, internal.now()
    from workflow.change_revision r where r.change_request_id = p_change_request_id
  having coalesce((array_agg(r.definition::text order by r.revision_no desc))[1] <> v_text, true);
  return workflow.change_report(p_change_request_id);
end
$$;
