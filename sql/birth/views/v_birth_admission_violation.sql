create or replace view birth.v_birth_admission_violation with (security_barrier) as
select b.collection_name, b.entity_code, b.birth_id, b.born_at, b.born_by::text as born_by,
       case when b.admission = 'missing' and b.born_at >= f.enforced_from then 'birth_without_permit'
            when b.admission = 'missing' then 'permit_missing'
            when b.admission = 'break_glass' then 'glass_broken'
            when p.permit_id is null then 'permit_vanished'
            else 'permit_not_finalized' end as violation
  from birth.birth_registry b
  join birth.family f using (collection_name)
  left join birth.birth_admission_permit p on p.permit_id = b.permit_id
 where b.admission <> 'permit' or p.status is distinct from 'FINALIZED'
union all
select p.collection_name, p.entity_code, null, p.last_transition_at, p.consumed_by::text, 'permit_without_birth'
  from birth.birth_admission_permit p
 where p.status = 'CONSUMED' or p.status = 'FINALIZED' and not exists (select from birth.birth_registry b where b.birth_id = p.finalized_birth_id);
comment on view birth.v_birth_admission_violation is
  'Births without a finalized permit and permits without their birth. permit_missing is only reported; the others need somebody.';
