-- promise: the approval allows exactly this and is used for it, once, whoever else tries at the same time. Says whether that was
--          now: a repetition of the same use is no second use.
-- callers: doors of the rooms
-- locks: the request (its turn), so that no vote is counted meanwhile
-- refuses with: RA002, RA003, RA006, RS025
create or replace function approval.consume(
  p_approval_id uuid, p_kind text, p_subject_ref text, p_subject_digest bytea, p_used_for_kind text, p_used_for_ref text, p_principal text
) returns boolean
language plpgsql
as $$
declare
  v_problems jsonb;
begin
  perform fsm.require_fresh_reads();
  perform internal.take_turn('approval:' || p_approval_id);
  if exists (select from approval.approval_use u
              where u.approval_id = p_approval_id and u.used_for_kind = p_used_for_kind and u.used_for_ref = p_used_for_ref) then
    return false;
  end if;
  v_problems := approval.problem(p_approval_id, p_kind, p_subject_ref, p_subject_digest);
  if v_problems is not null then
    perform internal.refuse(v_problems);
  end if;
  insert into approval.approval_use (approval_id, used_for_kind, used_for_ref, used_by, used_at)
  values (p_approval_id, p_used_for_kind, p_used_for_ref, p_principal, internal.now());
  return true;
end
$$;
