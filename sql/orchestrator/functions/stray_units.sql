-- promise: the live units below the prefix of a document that are none of these, ten at most: where each stands, who made it, and what clears
--          it away. A unit that a request made goes with that request; what nobody cut was made by hand.
create or replace function orchestrator.stray_units(p_document_id text, p_own uuid[]) returns jsonb
language sql stable
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'address', s.canonical_address, 'lifecycle_status', s.lifecycle_status, 'made_by', s.created_by, 'entry_id', s.entry_id, 'run_id', s.run_name,
           'way', case
             when s.run_name is not null then 'cutter orchestrate void --run-id ' || s.run_name || ' --reason TEXT'
             when s.entry_id is not null and s.lifecycle_status = 'draft' then 'chancery cutter abandon ' || s.entry_id || ' --reason TEXT'
             else 'choose another prefix: chancery doc add FILE --id ANOTHER --prefix FREE' end) order by s.canonical_address), '[]')
    from (select u.canonical_address, u.lifecycle_status, u.created_by, e.entry_id,
                 case when r.state_code not in ('closeout_reported', 'voided_sovereign') then r.run_name end as run_name
            from iu.source_document d
            join iu.information_unit u on u.doc_code = d.address_docprefix and u.deleted_at is null and u.id <> all (p_own)
            left join iu.iu_lifecycle_log l on l.unit_id = u.id and l.seq = 1
            left join cutter_governance.cut_change_set c on c.change_set_id = l.change_set_id
            left join orchestrator.run r on internal.derived_uuid(r.run_id, 'change_set') = l.change_set_id and l.change_set_id is not null
            left join cutter_governance.decision_backlog_entry e on e.entry_id = coalesce(c.decision_backlog_entry_id, r.entry_id)
           where d.document_id = p_document_id
           order by u.canonical_address limit 10) s
$$;
