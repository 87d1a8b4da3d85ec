-- promise: a unit is born with every field it needs, each word from its vocabulary.
-- refuses with: RI024
create or replace function iu.fn_iu_birth_gate_layer1() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_profile jsonb := new.identity_profile::jsonb;
  v_field text;
begin
  v_field := case
    when btrim(new.canonical_address) = '' then 'canonical_address'
    when btrim(new.owner_ref) = '' then 'owner_ref'
    when btrim(new.conformance_status) = '' then 'conformance_status'
    when new.lifecycle_status <> 'draft' then 'lifecycle_status'
    when coalesce(btrim(v_profile ->> 'title'), '') = '' then 'identity_profile.title'
    when coalesce(btrim(v_profile ->> 'owner_lookup_ref'), '') = '' then 'identity_profile.owner_lookup_ref'
    when v_profile ->> 'primary_section_type_ref' is distinct from new.section_type then 'identity_profile.primary_section_type_ref'
    when coalesce(v_profile ->> 'publication_type_ref', '') = '' then 'identity_profile.publication_type_ref'
    when not exists (select from config.dot_config c where c.key = 'vocab.unit_kind.' || new.unit_kind) then 'unit_kind'
    when not exists (select from config.dot_config c where c.key = 'vocab.section_type.' || new.section_type) then 'section_type'
    when not exists (select from config.dot_config c where c.key = 'vocab.publication_type.' || (v_profile ->> 'publication_type_ref'))
      then 'identity_profile.publication_type_ref'
  end;
  if v_field is not null then
    perform internal.refuse(internal.problem('RI024', jsonb_build_object('field', v_field, 'address', new.canonical_address)));
  end if;
  return new;
end
$$;
