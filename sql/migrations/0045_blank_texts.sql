-- A text that has to say something says more than tabs, line ends and blanks of any width: one rule for doors and constraints alike.
drop function if exists internal.is_blank(text);
create or replace function internal.is_blank(p_text text) returns boolean
language sql immutable parallel safe
as $$
  select coalesce(btrim(p_text, E' \t\n\x0b\f\r\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u2800\u3000\u3164\ufe0e\ufe0f\ufeff\uffa0') = '', true)
$$;
grant execute on function internal.is_blank(text) to chancery_definer;

-- Constraints that compared with the trimmed text ask the rule now. Rows that are there stay as they are: evidence is not rewritten.
do $blank$
declare
  v_check record;
begin
  for v_check in
    select k.conrelid::regclass as table_name, k.conname,
           regexp_replace(pg_get_constraintdef(k.oid), 'btrim\(([a-z_]+)\) <> ''''::text', '(\1 is null or not internal.is_blank(\1))', 'g') as definition
      from pg_constraint k join pg_namespace n on n.oid = k.connamespace
     where n.nspowner = 'chancery_owner'::regrole and k.contype = 'c' and k.coninhcount = 0
       and pg_get_constraintdef(k.oid) ~ 'btrim\(([a-z_]+)\) <> ''''::text'
     order by 1, 2
  loop
    execute format('alter table %s drop constraint %I', v_check.table_name, v_check.conname);
    execute format('alter table %s add constraint %I %s not valid', v_check.table_name, v_check.conname, regexp_replace(v_check.definition, ' NOT VALID$', ''));
  end loop;
end
$blank$;
