-- promise: what stands for a code in our tables: itself; or, where it is longer than a code may be, its beginning and its digest. No
--          permit is ever given for such a code, but rows that have one are there, and must be able to leave and to be reported: PostgreSQL
--          would refuse an index entry of that size, and with it the owner's statement.
-- callers: birth.leave, birth.admit_without_permit, birth.assert_born
create or replace function birth.short_code(p_code text) returns text
language sql stable parallel safe
as $$
  select case when octet_length(p_code) <= 200 then p_code else concat(left(p_code, 30), ':sha256:', encode(sha256(convert_to(p_code, 'UTF8')), 'hex')) end
$$;
