-- promise: units and their texts are written by the functions named in the configuration, through a door, or not at all. The
--          marker is a courtesy that names the writer; the wall is that nobody but the doors' role has the right.
-- refuses with: RI025
create or replace function iu.fn_iu_gateway_write_guard() returns trigger
language plpgsql
as $$
declare
  v_writer text := current_setting('app.canonical_writer', true);
begin
  if current_user = 'chancery_definer' and session_user in ('cutter_exec', 'cutter_verify', 'cutter_review', 'chancery_app')
     and (select c.value ? v_writer from config.dot_config c where c.key = 'iu_create.gateway.allowed_marker_values') then
    return new;
  end if;
  perform internal.refuse(internal.problem('RI025', jsonb_build_object(
    'table', tg_table_schema || '.' || tg_table_name, 'operation', lower(tg_op), 'login', session_user, 'writer', v_writer)));
  return null;
end
$$;
