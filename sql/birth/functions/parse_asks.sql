-- promise: the requests of a call as rows. What nobody would read is refused, not passed over.
-- callers: birth.fn_birth_permit_request, birth.fn_birth_rehearse
-- Codes are what a row with them says: 7, and not 007, where the code is a number.
-- refuses with: RB003 a code that the columns cannot hold, RB012
create or replace function birth.parse_asks(p_collection text, p_asks jsonb) returns birth.permit_ask[]
language plpgsql stable
as $$
declare
  v_unfit jsonb;
  v_codes text[];
  v_normal text[];
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'birth.payload.max_bytes');
begin
  if jsonb_typeof(p_asks) is distinct from 'array' then
    perform internal.refuse(internal.problem('RB012', jsonb_build_object('collection', p_collection, 'field', 'asks', 'expected', 'an array of requests')));
  end if;
  select jsonb_build_object('collection', p_collection, 'field', u.field, 'expected', u.expected) into v_unfit
    from jsonb_array_elements(p_asks) a (ask),
         lateral (
           select 'asks' as field, 'objects' as expected where jsonb_typeof(a.ask) <> 'object'
           union all
           select k, 'permit_id, code, name, species, role, payload, signature'
             from jsonb_object_keys(case when jsonb_typeof(a.ask) = 'object' then a.ask else '{}' end) k
            where k not in ('permit_id', 'code', 'name', 'species', 'role', 'payload', 'signature')
           union all
           select 'payload', 'a JSON object' where jsonb_typeof(a.ask -> 'payload') not in ('object', 'null')
           union all
           select 'payload', format('at most %s bytes', v_most) where octet_length((a.ask -> 'payload')::text) > v_most
           union all
           select 'permit_id', 'a UUID' where a.ask ->> 'permit_id' is not null and internal.uuid_or_null(a.ask ->> 'permit_id') is null
           union all
           select 'signature', '64 bytes in hex' where a.ask ->> 'signature' !~ '^[0-9a-f]{128}$'
         ) u
   limit 1;
  if v_unfit is null then
    select jsonb_build_object('collection', p_collection, 'field', 'permit_id', 'expected', 'each id once') into v_unfit
      from jsonb_array_elements(p_asks) a (ask) where a.ask ->> 'permit_id' is not null
     group by internal.uuid_or_null(a.ask ->> 'permit_id') having count(*) > 1 limit 1;
  end if;
  if v_unfit is not null then
    perform internal.refuse(internal.problem('RB012', v_unfit));
  end if;
  v_codes := array(select a.ask ->> 'code' from jsonb_array_elements(p_asks) with ordinality a (ask, n) order by a.n);
  v_normal := birth.normal_codes(p_collection, v_codes);
  select jsonb_build_object('collection', p_collection, 'entity_code', left(v_codes[c.n], 200), 'why', 'not_of_its_type') into v_unfit
    from unnest(v_normal) with ordinality c (code, n)
   where c.code is null and v_codes[c.n] is not null
   order by c.n limit 1;
  if v_unfit is not null then
    perform internal.refuse(internal.problem('RB003', v_unfit));
  end if;
  return array(
    select row(internal.uuid_or_null(a.ask ->> 'permit_id'), v_normal[a.n], a.ask ->> 'name', a.ask ->> 'species', a.ask ->> 'role',
               case when jsonb_typeof(a.ask -> 'payload') = 'object' then sha256(convert_to(internal.canonical_json(a.ask -> 'payload'), 'UTF8')) end,
               decode(a.ask ->> 'signature', 'hex'))::birth.permit_ask
      from jsonb_array_elements(p_asks) with ordinality a (ask, n) order by a.n);
end
$$;
