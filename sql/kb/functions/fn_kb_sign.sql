-- promise: the principal's signature stands under exactly this revision, once with each meaning.
-- callers: chancery_app, cutter_exec, cutter_verify, cutter_review
-- locks: the path (its turn), so that the same signature twice at once is one
-- refuses with: RA022 no such revision, RC007 what was signed is not what would be stored, RC010, RC015 the id stands under something else,
--               RI001–RI008, RI051, RS025
create or replace function kb.fn_kb_sign(
  p_signature_id uuid, p_path text, p_revision integer, p_meaning text, p_principal text, p_actor_class text, p_key_id uuid, p_signed_at bigint,
  p_payload text, p_signature bytea
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_revision kb.revision;
  v_existing uuid;
  v_payload text;
begin
  perform fsm.require_fresh_reads();
  -- A revision never changes or goes, so it is read before the turn, and before anybody's signature is looked at: nobody signs what is refused.
  select r.* into v_revision from kb.revision r where r.path = p_path and r.revision = p_revision;
  if not found or internal.is_blank(p_meaning) then
    perform internal.refuse(internal.problem('RA022', jsonb_build_object('path', p_path, 'revision', p_revision, 'meaning', p_meaning)));
  end if;
  perform identity.require_actor(p_principal, p_actor_class);
  perform identity.require_signature(p_principal, p_key_id, 'application/vnd.chancery.kb.v1+json', p_payload, p_signature);
  perform internal.take_turn('kb.path:' || p_path);
  select s.signature_id into v_existing from kb.revision_signature s
   where s.path = p_path and s.revision = p_revision and s.signer = p_principal and s.meaning = p_meaning;
  if found then
    return kb.revision_report(v_revision, true) || jsonb_build_object('signature_id', v_existing, 'signer', p_principal, 'meaning', p_meaning);
  end if;
  perform identity.require_signer(p_principal, p_actor_class, p_key_id, p_signed_at, p_signature);
  v_payload := kb.signature_payload(p_signature_id, p_path, p_revision, v_revision.sha256, p_meaning, p_principal, p_key_id, p_signed_at);
  if p_signature_id is null or v_payload is distinct from p_payload then
    perform internal.refuse(internal.problem('RC007', jsonb_build_object('signed', p_payload, 'stored', v_payload)));
  end if;
  if exists (select from kb.revision_signature s where s.signature_id = p_signature_id) then
    perform internal.refuse(internal.problem('RC015', (
      select jsonb_build_object('signature_id', p_signature_id, 'path', s.path, 'revision', s.revision, 'meaning', s.meaning, 'signer', s.signer)
        from kb.revision_signature s where s.signature_id = p_signature_id)));
  end if;
  insert into kb.revision_signature (
    signature_id, path, revision, signer, meaning, key_id, signature_payload, signature, signed_at, recorded_at)
  values (p_signature_id, p_path, p_revision, p_principal, p_meaning, p_key_id, p_payload, p_signature, internal.from_micros(p_signed_at), internal.now());
  return kb.revision_report(v_revision, false) || jsonb_build_object('signature_id', p_signature_id, 'signer', p_principal, 'meaning', p_meaning);
end
$$;
