-- promise: the live draft unit at an address, locked until the transaction ends.
-- locks: the unit (update)
-- refuses with: RI027, RI028
create or replace function iu.draft_unit(p_canonical_address text) returns iu.information_unit
language plpgsql
as $$
declare
  v_unit iu.information_unit;
begin
  select u.* into v_unit from iu.information_unit u where u.canonical_address = p_canonical_address and u.deleted_at is null for update;
  if not found then
    perform internal.refuse(internal.problem('RI028', jsonb_build_object('address', p_canonical_address)));
  elsif v_unit.lifecycle_status <> 'draft' then
    perform internal.refuse(internal.problem('RI027', jsonb_build_object('address', p_canonical_address, 'lifecycle_status', v_unit.lifecycle_status)));
  end if;
  return v_unit;
end
$$;
