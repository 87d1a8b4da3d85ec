-- promise: the votes that the reader could cast on a request, in each class in which they count, and whether they may: judged by the function that
--          judges the vote itself. Changes nothing.
-- callers: chancery_app, for pages and programs that show what can be done
create or replace function approval.fn_approval_actions(p_approval_id uuid, p_reader text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_voting constant text[] := '{sovereign,reviewer,review_authority}';
  v_held text[];
  v_classes text[];
  v_class text;
  v_problems jsonb;
  v_actions jsonb := '[]';
begin
  select p.actor_classes into v_held from identity.principal p where p.name = p_reader;
  v_classes := array(select c from unnest(v_voting) with ordinality v (c, n) where c = any (v_held) order by n);
  -- Who holds none of them is told so for the class that most requests ask for.
  foreach v_class in array case when v_classes = '{}' then '{reviewer}' else v_classes end loop
    v_problems := approval.vote_problems(p_approval_id, p_reader, v_class);
    if not identity.permits(p_reader, 'approval.vote') then
      v_problems := v_problems || internal.problem('RI040', jsonb_build_object('principal', p_reader, 'permission', 'approval.vote'));
    end if;
    v_actions := v_actions || (
      select jsonb_agg(jsonb_build_object(
               'name', 'vote', 'label', d, 'to', null, 'actor_class', v_class, 'allowed', v_problems = '[]', 'problems', v_problems, 'needs', '[]'::jsonb) order by n)
        from unnest('{approve,reject,abstain}'::text[]) with ordinality x (d, n));
  end loop;
  return v_actions;
end
$$;
