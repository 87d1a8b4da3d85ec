-- promise: the operator said yes to a key that a person asked for, and it is the person's from now; or no. Repeating it changes nothing.
-- callers: chancery_migrator (the operator), who asked the person whether the key is theirs
-- refuses with: RI001, RI006, RI007, RI052, RI053 as identity.fn_key_register does; RI050 no such request, or settled otherwise
create or replace function identity.fn_key_request_settle(p_request_id uuid, p_accept boolean, p_acted_by text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_request record;
  v_problems jsonb;
  v_outcome text := case when p_accept then 'accepted' else 'refused' end;
begin
  select r.principal, r.public_key, r.outcome, r.possession into v_request from identity.key_request r where r.request_id = p_request_id for update;
  if not found or v_request.outcome <> v_outcome then
    perform internal.refuse(internal.problem('RI050', jsonb_build_object('request_id', p_request_id, 'outcome', v_request.outcome)));
  end if;
  if v_request.outcome is null then
    -- A request of an older release did not show it.
    v_problems := case when p_accept then identity.possession_problems(v_request.principal, v_request.public_key, v_request.possession) else '[]' end;
    if v_problems <> '[]' then
      perform internal.refuse(v_problems);
    end if;
    update identity.key_request set outcome = v_outcome, settled_at = internal.now() where request_id = p_request_id;
    if p_accept then
      perform identity.register_key(p_request_id, v_request.principal, v_request.public_key, null, p_acted_by);
    else
      perform identity.record(p_acted_by, 'key_refused', v_request.principal, jsonb_build_object('request_id', p_request_id));
    end if;
  end if;
  return (select to_jsonb(v) from identity.v_key_request v where v.request_id = p_request_id);
end
$$;
