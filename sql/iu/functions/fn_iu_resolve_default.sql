-- promise: the word that stands for what was given: the word itself, or the only one there is. Null: nothing fits.
-- callers: chancery_app, cutter_exec, and the doors of this room
create or replace function iu.fn_iu_resolve_default(p_vocabulary text, p_given text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_words text[];
begin
  if p_given is not null then
    return case when iu.is_in_vocabulary(p_vocabulary, p_given) then jsonb_build_object('status', 'explicit', 'value', p_given)
                else jsonb_build_object('status', 'error', 'value', null) end;
  end if;
  v_words := array(select split_part(c.key, '.', 3) from config.dot_config c where c.key like 'vocab.' || p_vocabulary || '.%');
  return case when cardinality(v_words) = 1 then jsonb_build_object('status', 'auto_single', 'value', v_words[1])
              else jsonb_build_object('status', 'error', 'value', null) end;
end
$$;
