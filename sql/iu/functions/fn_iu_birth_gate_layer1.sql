-- promise: a unit is born as a draft with every field it needs, each word from its vocabulary, and its profile says the same as
--          its columns.
-- refuses with: RI024
create or replace function iu.fn_iu_birth_gate_layer1() returns trigger
language plpgsql
as $$
declare
  v_profile jsonb := new.identity_profile::jsonb;
  v_problem jsonb;
begin
  v_problem := iu.unit_problem(new.canonical_address, v_profile ->> 'title', new.owner_ref, new.unit_kind, new.section_type,
                               v_profile ->> 'publication_type_ref', new.parent_or_container_ref);
  if v_problem is not null then
    perform internal.refuse(internal.problem('RI024', v_problem));
  elsif new.lifecycle_status <> 'draft' or new.conformance_status <> 'open' or v_profile ->> 'owner_lookup_ref' is distinct from new.owner_ref
        or v_profile ->> 'primary_section_type_ref' is distinct from new.section_type then
    perform internal.refuse(internal.problem('RI024', jsonb_build_object('field', 'identity_profile', 'address', new.canonical_address)));
  end if;
  return new;
end
$$;
