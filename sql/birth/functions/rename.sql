-- promise: a row's code stays what it was born with, where the family is enforced. Elsewhere the new code is a birth without a permit.
-- callers: the trigger functions of the families
-- refuses with: RB004
create or replace function birth.rename(p_collection text, p_old text, p_new text, p_name text) returns void
language plpgsql
as $$
begin
  if exists (select from birth.family f where f.collection_name = p_collection and f.active and f.enforced_from <= internal.now())
     and not exists (select from birth.break_glass g where g.collection_name = p_collection and g.expires_at > internal.now()) then
    perform internal.refuse(internal.problem('RB004', jsonb_build_object('collection', p_collection, 'entity_code', p_old, 'new_code', p_new, 'login', session_user)));
  end if;
  perform birth.leave(p_collection, p_old);
  perform birth.admit_without_permit(p_collection, p_new, p_name);
end
$$;
