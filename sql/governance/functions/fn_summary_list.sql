-- promise: the newest summary of every subject that the reader may see, red first.
-- callers: chancery_app
-- refuses with: RE040 no such category, RI001, RI002, RI040
create or replace function governance.fn_summary_list(p_reader text, p_category text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform identity.require_permission(p_reader, 'problems.read');
  if p_category is not null and p_category <> 'executors' then
    perform governance.require_category(p_reader, p_category);
  end if;
  return (
    select coalesce(jsonb_agg(governance.summary_report(s, false) - '{ok,replayed,problems}'::text[]
                              order by array_position('{red,yellow,green}', s.state), s.category, s.subject), '[]')
      from (select distinct on (t.category, t.subject) t.* from governance.status_summary t
             where (p_category is null or t.category = p_category)
             order by t.category, t.subject, t.created_at desc, t.summary_id desc) s
     where s.category = 'executors' or identity.permits(p_reader, 'problems.' || s.category));
end
$$;
