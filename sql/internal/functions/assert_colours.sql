-- promise: each colour has a shape, and a fill, a text and a border in each theme. Bound to the tables by triggers.sql, for the end of the
--          transaction: what belongs together may be written one after the other.
-- refuses with: RS029 the colour, the themes that it lacks, and its shape
create or replace function internal.assert_colours() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong jsonb;
begin
  select jsonb_build_object('colour', n.colour, 'shape', (select c.shape from config.colour c where c.colour = n.colour), 'themes_missing', m.themes)
    into v_wrong
    from (select c.colour from config.colour c union select p.colour from config.palette p) n
    cross join lateral (
      select coalesce(jsonb_agg(t.theme order by t.theme), '[]') as themes from config.theme t
       where not exists (select from config.palette p where p.colour = n.colour and p.theme = t.theme)) m
   where m.themes <> '[]' or not exists (select from config.colour c where c.colour = n.colour)
   order by n.colour limit 1;
  if found then
    perform internal.refuse(internal.problem('RS029', v_wrong));
  end if;
  return null;
end
$$;
