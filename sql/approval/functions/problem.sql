-- promise: what keeps an approval from allowing exactly this, as problems; null when nothing does: it exists, is of this kind, about
--          this subject, approved, not expired and not used. Votes whose key was revoked meanwhile are named.
create or replace function approval.problem(p_approval_id uuid, p_kind text, p_subject_ref text, p_subject_digest bytea) returns jsonb
language plpgsql stable
as $$
declare
  v_request approval.approval_request;
  v_state text;
begin
  select r.* into v_request from approval.approval_request r where r.approval_id = p_approval_id;
  if not found then
    return internal.problem('RA002', jsonb_build_object('approval_id', p_approval_id));
  elsif v_request.kind is distinct from p_kind then
    return internal.problem('RA003', jsonb_build_object('approval_id', p_approval_id, 'differs_in', 'kind', 'approved', v_request.kind, 'asked', p_kind));
  elsif v_request.subject_ref is distinct from p_subject_ref then
    return internal.problem('RA003', jsonb_build_object(
      'approval_id', p_approval_id, 'differs_in', 'subject_ref', 'approved', v_request.subject_ref, 'asked', p_subject_ref));
  elsif v_request.subject_digest is distinct from p_subject_digest then
    return internal.problem('RA003', jsonb_build_object(
      'approval_id', p_approval_id, 'differs_in', 'subject_digest', 'approved', encode(v_request.subject_digest, 'hex'), 'asked', encode(p_subject_digest, 'hex')));
  end if;
  v_state := approval.state(p_approval_id);
  if v_state <> 'approved' then
    return internal.problem('RA006', approval.report(p_approval_id) - 'title' - 'request_digest'
      || jsonb_strip_nulls(jsonb_build_object('revoked_votes', approval.revoked_votes(p_approval_id))));
  end if;
  return null;
end
$$;
