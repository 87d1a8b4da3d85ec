-- promise: these codes as rows of the family say them, in their order; one that its columns cannot hold as it is. What is signed for a permit
--          names the code, so who signs asks first. Writes nothing.
-- callers: chancery_app
create or replace function birth.fn_codes_normal(p_collection text, p_codes text[]) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select array(select coalesce(n.code, n.given) from unnest(birth.normal_codes(p_collection, p_codes), p_codes) with ordinality n (code, given, no) order by n.no)
$$;
