-- promise: each code asked for has a permit: a new one, or the one that the same request got before, whatever became of it. All of them
--          or none. New permits stand in the log, chained, with their events, written in one statement.
-- callers: birth.fn_birth_permit_request, birth.fn_birth_rehearse, cutter_governance.create_units, iu.fn_iu_create; who asks was looked at there
-- arrow: ∅ → RESERVED
-- locks: the codes' places in the index: of two requests at once the second waits for the first and then sees its permit
-- One plan for all calls, made for a table that grows: PostgreSQL would make one anew for each that asks for a single permit, which takes
-- longer than to carry it out, or keep one that was made while the table was empty.
-- refuses with: RB002 no such family, RB003 a code that breaks the rule, RB009 another intent, RB010 born before, RB012 no command, RS018, RS023 an id is taken
create or replace function birth.reserve(
  p_collection text, p_asks birth.permit_ask[], p_principal text, p_actor_class text, p_dot text, p_approval_id uuid, p_batch_id uuid,
  p_key_id uuid
) returns integer
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
  v_family birth.family;
  v_machine text;
  v_edge fsm.transition_def;
  v_codes text[];
  v_bad jsonb;
  v_stale uuid;
  v_at timestamptz;
  v_made integer;
  v_wanted integer;
  v_circles integer := 0;
begin
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  if not found then
    perform internal.refuse(internal.problem('RB002', jsonb_build_object('collection', p_collection)));
  end if;
  select m.state_machine_id into v_machine from fsm.state_machine_def m where m.scope = 'birth_permit' and m.active;
  if not found then
    perform internal.refuse(internal.problem('RS018', '{"machine": "birth_permit", "active": []}'));
  end if;
  if internal.is_blank(p_dot) or octet_length(p_dot) > 100 then
    perform internal.refuse(internal.problem('RB012', jsonb_build_object('collection', p_collection, 'field', 'dot', 'expected', 'the command that asks, at most 100 bytes')));
  end if;
  v_edge := birth.edge(v_machine, null, 'RESERVED', p_actor_class);
  v_bad := birth.code_problems(v_family, p_asks);
  if v_bad is not null then
    perform internal.refuse(v_bad);
  end if;
  v_codes := array(select a.entity_code from unnest(p_asks) a);
  -- Each turn is all or nothing. Who kept the half of a turn and waited for the rest would close a circle with another who does the same;
  -- undone, it holds nothing while it looks again.
  loop
    begin
      v_at := internal.now();
      -- A permit that ran out and was not swept yet gives way to the new request. In the order of the watchdog, so that neither waits for
      -- what the other holds. (A rehearsal writes under a login that may not act for the system, and writes nothing that stays.)
      for v_stale in
        select p.permit_id from unnest(v_codes) c (code)
          -- Code by code: the planner would rather read the whole family, which it takes for small when it last was.
          join lateral (
            select p1.permit_id, p1.status, p1.expires_at from birth.birth_admission_permit p1
             where p1.collection_name = p_collection and p1.entity_code = c.code and p1.live limit 1) p on true
         where p.status = 'RESERVED' and p.expires_at <= v_at
         order by p.expires_at, p.permit_id
      loop
        if exists (select from birth.rehearsal r where r.xid = pg_current_xact_id()) then
          perform birth.rehearse_expiry(v_stale);
        else
          perform birth.expire(v_stale, 'chancery');
        end if;
      end loop;
      v_bad := birth.standing_problems(v_family, p_asks);
      if v_bad is not null then
        perform internal.refuse(v_bad);
      end if;
      with asked as materialized (
        select coalesce(a.permit_id, internal.uuid_v7()) as permit_id, a.entity_code, a.entity_name, a.species_code,
               coalesce(a.governance_role, v_family.governance_role) as governance_role, a.payload_digest, a.signature,
               birth.request_hash(p_collection, a.entity_code, a.entity_name, a.species_code, coalesce(a.governance_role, v_family.governance_role), a.payload_digest) as request_hash,
               internal.uuid_v7() as log_id, v_at + make_interval(secs => v_family.ttl_seconds) as expires_at
          from unnest(p_asks) a
          left join lateral (
            select true as there from birth.birth_admission_permit p
             where p.collection_name = p_collection and p.entity_code = a.entity_code and p.live limit 1) p on true
         where p.there is null),
      digested as materialized (
        select a.*, concat('{"request_hash":"', encode(a.request_hash, 'hex'), '"}') as evidence, replace(a.permit_id::text, '-', '') as trace_id,
               birth.permit_digest(a.permit_id, a.request_hash, p_batch_id, p_dot, p_approval_id, v_at, a.expires_at) as digest
          from asked a),
      hashed as materialized (
        select d.*, internal.log_hash(
                 d.permit_id, 1, d.log_id, 'birth_permit', v_machine, v_edge.transition_id, null, 'RESERVED', null, p_principal, p_actor_class,
                 v_edge.trigger_kind, v_edge.trigger_ref, null, d.evidence, v_edge.emitted_event_type, d.digest, 'reserve',
                 case when d.signature is not null then p_key_id end, d.signature, v_at, null) as hash
          from digested d),
      reserved as (
        insert into birth.birth_admission_permit (
          permit_id, collection_name, entity_code, request_hash, batch_id, status, seq, head_hash, state_machine_id, entity_name, species_code, governance_role,
          payload_digest, requested_by_dot, approval_id, started_by, requested_at, expires_at, trace_id, correlation_id, last_transition_at)
        select h.permit_id, p_collection, h.entity_code, h.request_hash, p_batch_id, 'RESERVED', 1, h.hash, v_machine, h.entity_name, h.species_code,
               h.governance_role, h.payload_digest, p_dot, p_approval_id, p_principal, v_at, h.expires_at, h.trace_id, h.permit_id::text, v_at
          from hashed h
         order by h.entity_code
        on conflict do nothing
        returning permit_id),
      logged as (
        insert into fsm.transition_log (
          run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, principal, actor_class, trigger_kind, trigger_ref, evidence,
          event_type, artefact_digest, idempotency_key, key_id, signature, at, prev_hash, hash)
        select h.permit_id, 1, h.log_id, 'birth_permit', v_machine, v_edge.transition_id, null, 'RESERVED', p_principal, p_actor_class, v_edge.trigger_kind,
               v_edge.trigger_ref, h.evidence, v_edge.emitted_event_type, h.digest, 'reserve', case when h.signature is not null then p_key_id end, h.signature,
               v_at, null, h.hash
          -- "is true" keeps it a look-up in a hash table: the planner takes an array for short and would join each with each.
          from hashed h where (h.permit_id in (select r.permit_id from reserved r)) is true),
      emitted as (
        insert into event.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
        select h.log_id, v_at, v_edge.emitted_event_type, 'birth_permit', h.permit_id, 1, p_principal, h.trace_id, h.permit_id::text, '{}'
          from hashed h where v_edge.emitted_event_type is not null and (h.permit_id in (select r.permit_id from reserved r)) is true)
      select (select count(*) from asked), (select count(*) from reserved) into v_wanted, v_made;
      if v_made = v_wanted then
        return v_made;
      end if;
      raise exception using errcode = 'CH001', message = 'somebody else reserved one of them meanwhile';
    exception
      when sqlstate 'CH001' then
        null; -- The next turn sees what they asked for.
      when deadlock_detected then
        -- With somebody who inserts several rows in an order of their own. What the caller held before stays held: so not for ever.
        v_circles := v_circles + 1;
        if v_circles = 3 then
          raise;
        end if;
    end;
  end loop;
end
$$;
