-- promise: the INSERT that an admission makes, for the caller to run under its own login, and the document it takes: the payload, the
--          code and, where the family has a column for it, the name. It names only columns that are given, so that defaults hold.
-- callers: chancery_app, birth_writer
-- refuses with: RB002, RB003 a code that the columns cannot hold, RB020 a member that is no column, or that is the code
-- Dynamic SQL is made here and run elsewhere, with %I and %s of a regclass only.
create or replace function birth.fn_birth_statement(p_collection text, p_code text, p_name text, p_payload jsonb) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_family birth.family;
  v_columns text[];
  v_parts text[];
  v_code text;
  v_unfit text;
  v_document jsonb;
begin
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  if not found then
    perform internal.refuse(internal.problem('RB002', jsonb_build_object('collection', p_collection)));
  elsif jsonb_typeof(coalesce(p_payload, '{}')) <> 'object' then
    perform internal.refuse(internal.problem('RB020', jsonb_build_object('collection', p_collection, 'expected', 'an object', 'given', jsonb_typeof(p_payload))));
  end if;
  v_columns := birth.code_columns(v_family.code_column);
  v_code := (birth.normal_codes(p_collection, array[p_code]))[1];
  if v_code is null and p_code is not null then
    perform internal.refuse(internal.problem('RB003', jsonb_build_object('collection', p_collection, 'entity_code', left(p_code, 200), 'why', 'not_of_its_type')));
  end if;
  v_parts := case when cardinality(v_columns) = 1 then array[v_code] else birth.code_parts(v_code) end;
  v_document := coalesce(p_payload, '{}') || (select jsonb_object_agg(c.name, v_parts[c.n]) from unnest(v_columns) with ordinality c (name, n))
    || case when v_family.name_column is not null and p_name is not null then jsonb_build_object(v_family.name_column, p_name) else '{}' end;
  select k into v_unfit from jsonb_object_keys(coalesce(p_payload, '{}')) k
   where k = any (v_columns) or not exists (
     select from pg_attribute a where a.attrelid = v_family.relation and a.attname = k and a.attnum > 0 and not a.attisdropped and a.attgenerated = '')
   limit 1;
  if found then
    perform internal.refuse(internal.problem('RB020', jsonb_build_object('collection', p_collection, 'member', v_unfit)));
  end if;
  return jsonb_build_object('document', v_document, 'statement', (
    select format('insert into %s (%s) select %s from jsonb_populate_record(null::%s, $1) r', v_family.relation::regclass, string_agg(quote_ident(k), ', ' order by k),
                  string_agg('r.' || quote_ident(k), ', ' order by k), v_family.relation::regclass)
      from jsonb_object_keys(v_document) k));
end
$$;
