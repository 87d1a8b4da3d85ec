create or replace view birth.v_birth_admission_permit_status with (security_barrier) as
select p.collection_name, case when p.status = 'RESERVED' and p.expires_at <= internal.now() then 'RESERVED_AGED' else p.status end as status,
       count(*) as permits, min(p.requested_at) as oldest, max(p.last_transition_at) as newest,
       (array_agg(p.entity_code order by p.last_transition_at desc))[1:5] as newest_codes
  from birth.birth_admission_permit p
 group by 1, 2;
comment on view birth.v_birth_admission_permit_status is
  'Permits by collection and status, with the newest codes of each. RESERVED_AGED: past its time and not expired yet.';
