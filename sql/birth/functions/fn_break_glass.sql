-- promise: for so many minutes the family admits births without permits; each of them says so. For a reason, by an approval of somebody
--          else that is used for exactly this, and with an end. The same approval again gives what is there.
-- callers: chancery_app (pic_human, escalation_handler, reviewer, sovereign, who asked for the approval)
-- locks: the approval (its turn)
-- refuses with: RB002, RB017 the reason or the time does not fit, RA002, RA003, RA006, RI001–RI004
create or replace function birth.fn_break_glass(p_collection text, p_approval_id uuid, p_reason text, p_minutes integer, p_actor_class text, p_principal text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_most integer := (select (c.value #>> '{}')::int from config.dot_config c where c.key = 'birth.break_glass.max_minutes');
  v_family birth.family;
  v_at timestamptz := internal.now();
  v_id uuid := internal.derived_uuid(p_approval_id, 'break_glass');
begin
  perform fsm.require_fresh_reads();
  perform identity.require_actor(p_principal, p_actor_class);
  select f.* into v_family from birth.family f where f.collection_name = p_collection and f.active;
  if not found then
    perform internal.refuse(internal.problem('RB002', jsonb_build_object('collection', p_collection)));
  elsif internal.is_blank(p_reason) or p_minutes is null or p_minutes not between 1 and v_most or p_approval_id is null then
    perform internal.refuse(internal.problem('RB017', jsonb_build_object('collection', p_collection, 'minutes', p_minutes, 'most', v_most, 'reason', p_reason)));
  end if;
  if approval.consume(p_approval_id, 'birth_break_glass', p_collection, sha256(convert_to(concat(p_minutes, ':', p_reason), 'UTF8')), 'birth_family', p_collection, p_principal) then
    insert into birth.break_glass (break_glass_id, collection_name, reason, approval_id, opened_by, opened_at, expires_at)
    values (v_id, p_collection, p_reason, p_approval_id, p_principal, v_at, v_at + make_interval(mins => p_minutes));
    perform birth.note_family(v_family, 'broke_glass', p_principal);
    perform governance.require_open('birth', 'critical', 'birth_break_glass', 'integrity', format('%s admits births without permits', p_collection), p_reason,
                                    'birth_family', p_collection, jsonb_build_object('approval_id', p_approval_id, 'minutes', p_minutes, 'opened_by', p_principal), 'chancery');
  end if;
  return (select jsonb_build_object('break_glass_id', g.break_glass_id, 'collection', g.collection_name, 'opened_at', g.opened_at, 'expires_at', g.expires_at)
            from birth.break_glass g where g.break_glass_id = v_id);
end
$$;
