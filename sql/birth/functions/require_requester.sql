-- promise: who asks for permits may: active, of this class, behind a login that acts for it, and a person or agent with a signature
--          of theirs under each request: under the move that reserves it.
-- callers: birth.fn_birth_permit_request, before anything is locked
-- refuses with: RI001–RI008, RI051, RB003
create or replace function birth.require_requester(
  p_collection text, p_principal text, p_actor_class text, p_key_id uuid, p_asks birth.permit_ask[]
) returns void
language plpgsql stable
as $$
declare
  v_principal record;
  v_problems jsonb;
begin
  select p.kind, p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  v_problems := identity.actor_problems(
    p_principal, v_principal.kind, v_principal.active, v_principal.actor_classes, p_actor_class, p_key_id,
    -- Nothing asked for is nothing signed, and is refused for what it is.
    cardinality(p_asks) > 0 and not exists (select from unnest(p_asks) a where a.signature is null));
  if v_problems = '[]' then
    -- What cannot be reserved has no reservation that could be signed, and is refused for that.
    select coalesce(jsonb_agg(s.problem), '[]') into v_problems
      from (
        select jsonb_array_elements(fsm.move_signature_problems(
                 'birth_permit', a.permit_id, 'RESERVED', p_actor_class, t.trigger_kind, t.trigger_ref,
                 jsonb_build_object('request_hash', encode(birth.request_hash(
                   p_collection, a.entity_code, a.entity_name, a.species_code, coalesce(a.governance_role, f.governance_role), a.payload_digest), 'hex')),
                 p_principal, 'reserve', null, m.state_machine_id, null, p_key_id, a.signature)) as problem
          from unnest(p_asks) a
          join birth.family f on f.collection_name = p_collection and f.active
          join fsm.state_machine_def m on m.scope = 'birth_permit' and m.active
          join fsm.transition_def t on t.state_machine_id = m.state_machine_id and t.from_state is null and t.to_state = 'RESERVED'
                                   and t.actor_class = p_actor_class
         where a.signature is not null) s;
    -- What is wrong with the codes is told before what is wrong with a signature: nobody is asked to sign what is refused.
    if v_problems <> '[]' then
      select coalesce(birth.code_problems(f, p_asks), v_problems) into v_problems
        from birth.family f where f.collection_name = p_collection and f.active;
    end if;
  end if;
  if v_problems <> '[]' then
    perform internal.refuse(v_problems);
  end if;
end
$$;
