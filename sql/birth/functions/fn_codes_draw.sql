-- promise: so many ids of the family, which nobody else gets, drawn from the sequence that its code column takes its default from: the same ids
--          to the same batch. They are not reserved by this; permits for them are asked for like any others. An id that is never used is a gap.
-- callers: chancery_app, for who then asks for permits
-- locks: the batch's turn
-- refuses with: RB002 no such family, RB012 the batch, RB021 its codes come from no sequence that we may draw from, or too many, RB022 the batch is
--               another's, RI001–RI003
create or replace function birth.fn_codes_draw(p_collection text, p_count integer, p_batch_id uuid, p_principal text, p_actor_class text) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_family birth.family;
  v_most constant integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'birth.permit.max_batch');
  v_principal record;
  v_sequence oid;
  v_why text;
  v_drawn birth.drawn_codes;
begin
  select p.active, p.actor_classes into v_principal from identity.principal p where p.name = p_principal;
  if not found then
    perform internal.refuse(internal.problem('RI001', jsonb_build_object('principal', p_principal)));
  elsif not v_principal.active then
    perform internal.refuse(internal.problem('RI002', jsonb_build_object('principal', p_principal)));
  elsif p_actor_class is null or p_actor_class <> all (v_principal.actor_classes) then
    perform internal.refuse(internal.problem('RI003', jsonb_build_object('principal', p_principal, 'actor_class', p_actor_class)));
  end if;
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  if not found then
    perform internal.refuse(internal.problem('RB002', jsonb_build_object('collection', p_collection)));
  elsif p_batch_id is null then
    perform internal.refuse(internal.problem('RB012', jsonb_build_object('collection', p_collection, 'field', 'batch_id', 'expected', 'a UUID')));
  end if;
  v_sequence := birth.code_sequence(v_family);
  v_why := case
    when cardinality(birth.code_columns(v_family.code_column)) > 1 then 'several_columns'
    when v_sequence is null then 'no_sequence'
    when not has_sequence_privilege(v_sequence, 'usage') then 'no_right'
    when p_count is null or p_count not between 1 and v_most then 'count' end;
  if v_why is not null then
    perform internal.refuse(internal.problem('RB021', jsonb_strip_nulls(jsonb_build_object(
      'collection', p_collection, 'column', v_family.code_column, 'why', v_why, 'sequence', v_sequence::regclass,
      'count', p_count, 'most', v_most))));
  end if;
  perform internal.take_turn('birth.batch:' || p_batch_id);
  select d.* into v_drawn from birth.drawn_codes d where d.batch_id = p_batch_id;
  if not found then
    insert into birth.drawn_codes (batch_id, collection_name, codes, drawn_by, drawn_at)
    values (p_batch_id, p_collection, array(
      select g.code from (select nextval(v_sequence::regclass)::text as code from generate_series(1, p_count)) g), p_principal, internal.now())
    returning * into v_drawn;
  elsif v_drawn.collection_name <> p_collection or v_drawn.drawn_by <> p_principal or cardinality(v_drawn.codes) <> p_count then
    perform internal.refuse(internal.problem('RB022', jsonb_build_object(
      'batch_id', p_batch_id, 'collection', v_drawn.collection_name, 'count', cardinality(v_drawn.codes), 'drawn_by', v_drawn.drawn_by)));
  end if;
  return v_drawn.codes;
end
$$;
