-- claim: who begins is in charge where a class of people is named; the version of the unit is pinned once, as it is then; without the unit nothing begins.
select identity.fn_principal_add('ana', 'human', '{pic_human,reviewer}');
-- Rows as the doors would leave them: what is asked here is what a beginning takes from them.
alter table workflow.workflow_version disable trigger user;
alter table workflow.workflow_step_def disable trigger user;
alter table iu.information_unit disable trigger user;
insert into workflow.workflow_version (workflow_def_id, workflow, version, definition, definition_sha256, change_request_id, merged_by, merged_at, row_digest)
values ('0199a3f0-0000-7000-8000-000000000001', 'w', 1, '{}', '\x00', gen_random_uuid(), 'ana', now(), '\x00');
insert into workflow.workflow_step_def (step_def_id, workflow_def_id, step_no, step_key, name_en, name_vi, optional, milestone, executor_class, pic_rule, retry_policy, params, reads_outputs,
                                        unit_address, joins_and, joins_or, joins_plain, has_tasks)
values ('0199a3f0-0000-7000-8000-000000000002', '0199a3f0-0000-7000-8000-000000000001', 1, 's', 'S', 'S', false, false, 'human', '{"class": "reviewer"}', 'standard', '{}', '{}',
        'POL/a', 0, 0, 0, false);
create function pg_temp.begun(p_pinned uuid default null) returns workflow.work language plpgsql as $$
declare
  v_work workflow.work;
begin
  v_work.run_kind := 'step';
  v_work.def_id := '0199a3f0-0000-7000-8000-000000000002';
  v_work.key := 's';
  v_work.pinned_iu_version_id := p_pinned;
  return workflow.begin_work(v_work, 'ana', 'pic_human');
end
$$;
select t.refused('RW022', 'select pg_temp.begun()');
insert into iu.information_unit (id, canonical_address, unit_kind, content_anchor_ref, version_anchor_ref, owner_ref, identity_profile, doc_code, section_type, section_code, sort_order,
                                 created_at, updated_at, created_by, updated_by, row_digest)
values (gen_random_uuid(), 'POL/a', 'law_unit', 'a', '0199a3f0-0000-7000-8000-00000000000a', 'o', '{}', 'POL', 'heading', 'a', 1, now(), now(), 'ana', 'ana', '\x00');
select t.equal((pg_temp.begun()).pinned_iu_version_id::text, '0199a3f0-0000-7000-8000-00000000000a'), t.equal((pg_temp.begun()).pic_id, 'ana');
-- What was pinned before stays pinned, whatever the unit says by now.
select t.equal((pg_temp.begun('0199a3f0-0000-7000-8000-00000000000b')).pinned_iu_version_id::text, '0199a3f0-0000-7000-8000-00000000000b');
-- A unit that was taken back is none.
update iu.information_unit u set deleted_at = now() where u.canonical_address = 'POL/a';
select t.refused('RW022', 'select pg_temp.begun()');
