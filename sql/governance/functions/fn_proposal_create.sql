-- promise: a proposal that is not about a workflow stands as a draft, with what it rests on. The same id with the same request gives it again.
-- callers: chancery_app (who may propose, by the machine)
-- arrow: ∅ → draft
-- locks: the id (its turn)
-- refuses with: RW019 the id stands for another proposal, RW021 the kind, the units or the evidence, RI001–RI008, RI051, RS018
create or replace function governance.fn_proposal_create(
  p_proposal_id uuid, p_kind text, p_proposer_class text, p_title text, p_affected_iu_ids uuid[], p_action jsonb, p_usage jsonb, p_evidence jsonb, p_principal text,
  p_actor_class text, p_idempotency_key text, p_key_id uuid default null, p_signature bytea default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text;
  v_known governance.proposal;
  v_machine record;
  v_report jsonb;
  v_expected text;
  v_verified bytea;
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  if p_signature is not null and not exists (select from governance.proposal p where p.proposal_id = p_proposal_id) then
    v_verified := (
      select fsm.require_move_signature('proposal', p_proposal_id, m.initial_state, p_actor_class, 'rpc', 'propose', p_evidence, p_principal, p_idempotency_key,
                                        null, p_key_id, p_signature, m.state_machine_id)
        from fsm.state_machine_def m where m.scope = 'proposal' and m.active);
  end if;
  perform internal.take_turn('proposal:' || p_proposal_id);
  v_expected := case
    when p_proposal_id is null or internal.is_blank(p_title) then 'an id and a title'
    when not exists (select from config.dot_config c where c.key = 'vocab.proposal_kind.' || p_kind) then 'a kind of the vocabulary'
    when p_proposer_class is null or p_proposer_class !~ '^[a-z][a-z0-9_]{0,62}$' then 'a class of proposers, as a word'
    when jsonb_typeof(p_action) is distinct from 'object' or octet_length(p_action::text) > 65536 then 'an action: an object of at most 65536 bytes'
    when p_affected_iu_ids is null or exists (select from unnest(p_affected_iu_ids) i where not exists (select from iu.information_unit u where u.id = i)) then 'units that there are'
    when jsonb_typeof(p_usage) is distinct from 'array' or p_usage = '[]' or exists (
           select from jsonb_array_elements(p_usage) e
            where jsonb_typeof(e) <> 'object' or coalesce(e ->> 'kind', '') !~ '^[a-z][a-z0-9_]{0,62}$' or jsonb_typeof(e -> 'facts') is distinct from 'object'
               or (e ? 'iu_id' and internal.uuid_or_null(e ->> 'iu_id') is null)) then 'evidence: a list of {kind, facts, iu_id}, not empty' end;
  if v_expected is not null then
    perform internal.refuse(internal.problem('RW021', jsonb_build_object('proposal_id', p_proposal_id, 'kind', p_kind, 'expected', v_expected)));
  end if;
  v_text := internal.canonical_json(p_action);
  select p.* into v_known from governance.proposal p where p.proposal_id = p_proposal_id;
  if found then
    if (v_known.proposal_kind, v_known.proposed_action::text, v_known.affected_iu_ids, v_known.started_by, v_known.title)
       is distinct from (p_kind, v_text, p_affected_iu_ids, p_principal, p_title) then
      perform internal.refuse(internal.problem('RW019', jsonb_build_object('proposal_id', p_proposal_id)));
    end if;
    return workflow.proposal_report('proposal', p_proposal_id) || '{"replayed": true}';
  end if;
  select m.state_machine_id, m.initial_state into v_machine from fsm.state_machine_def m where m.scope = 'proposal' and m.active;
  if not found then
    perform internal.refuse(internal.problem('RS018', '{"machine": "proposal", "active": []}'));
  end if;
  insert into governance.proposal (
    proposal_id, proposal_kind, proposer_class, state_machine_id, proposal_state, seq, title, affected_iu_ids, proposed_action, action_sha256, started_by, trace_id,
    correlation_id, created_at, last_transition_at)
  values (p_proposal_id, p_kind, p_proposer_class, v_machine.state_machine_id, v_machine.initial_state, 0, p_title, p_affected_iu_ids, v_text,
          sha256(convert_to(v_text, 'UTF8')), p_principal, replace(p_proposal_id::text, '-', ''), p_proposal_id::text, internal.now(), internal.now());
  insert into governance.iu_usage_evidence (evidence_id, proposal_id, iu_id, evidence_kind, facts, recorded_at)
  select internal.derived_uuid(p_proposal_id, 'evidence,' || e.no), p_proposal_id, internal.uuid_or_null(e.doc ->> 'iu_id'), e.doc ->> 'kind',
         internal.canonical_json(e.doc -> 'facts'), internal.now()
    from jsonb_array_elements(p_usage) with ordinality e (doc, no);
  v_report := fsm.move(p_proposal_id, 'proposal', null, v_machine.initial_state, p_actor_class, 'rpc', 'propose', p_evidence, p_principal, p_idempotency_key, null,
                       (select internal.artefact_digest(array_agg(d.row_digest)) from (
                          select u.row_digest from governance.iu_usage_evidence u where u.proposal_id = p_proposal_id
                          union all select p.row_digest from governance.proposal p where p.proposal_id = p_proposal_id) d),
                       p_key_id, p_signature, p_verified => v_verified);
  if v_report -> 'ok' = 'false' then
    perform internal.refuse(v_report -> 'problems');
  end if;
  return workflow.proposal_report('proposal', p_proposal_id) || '{"replayed": false}';
end
$$;
