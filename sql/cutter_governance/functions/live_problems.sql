-- promise: every difference between what a change set says it made and what stands in the tables now; an empty array when there is
--          none. The database's own look: a verifier compares more, from the source, in a process of its own.
create or replace function cutter_governance.live_problems(p_change_set_id uuid) returns jsonb
language sql stable
as $$
  with expected as (
    select a.target_row_id as unit_id, a.after_state_snapshot::jsonb as snapshot
      from cutter_governance.cut_change_set_affected_row a where a.change_set_id = p_change_set_id and a.operation_kind = 'insert'),
  seen as (
    select e.snapshot ->> 'address' as address,
           case
             when u.id is null or u.deleted_at is not null then 'unit_missing'
             when u.canonical_address <> e.snapshot ->> 'address' or u.section_type <> e.snapshot ->> 'section_type' or u.unit_kind <> e.snapshot ->> 'unit_kind'
                  or u.owner_ref <> e.snapshot ->> 'owner_ref' or u.sort_order <> (e.snapshot ->> 'sort_order')::integer
                  or p.canonical_address is distinct from e.snapshot ->> 'parent_address' then 'unit_differs'
             when v.unit_id is distinct from u.id or u.content_anchor_ref <> u.version_anchor_ref::text then 'anchor_differs'
             when v.id <> (e.snapshot ->> 'version_id')::uuid then 'unit_edited'
             when v.content_hash <> e.snapshot ->> 'content_hash' or v.content_hash <> encode(sha256(convert_to(v.body, 'UTF8')), 'hex') then 'text_differs'
           end as finding
      from expected e
      left join iu.information_unit u on u.id = e.unit_id
      left join iu.unit_version v on v.id = u.version_anchor_ref
      left join iu.information_unit p on p.id = u.parent_or_container_ref),
  extra as (
    select u.canonical_address as address, 'unit_unexpected' as finding
      from cutter_governance.cut_change_set c
      join cutter_governance.manifest_envelope m on m.envelope_id = c.manifest_id
      join iu.source_document d on d.document_id = m.document_id
      join iu.information_unit u on u.doc_code = d.address_docprefix and u.deleted_at is null
     where c.change_set_id = p_change_set_id and u.id not in (select e.unit_id from expected e))
  select coalesce(jsonb_agg(jsonb_build_object('finding', f.finding, 'address', f.address) order by f.address), '[]')
    from (select s.finding, s.address from seen s where s.finding is not null union all select x.finding, x.address from extra x) f
$$;
