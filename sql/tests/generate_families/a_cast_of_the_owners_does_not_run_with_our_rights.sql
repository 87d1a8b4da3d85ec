-- claim: a column that was given a type with a cast of its owner's, after its table was protected, is not read: neither the code nor the
--        name. Rows are refused, and the cast never runs as the definer.
create schema cast_shop;
grant usage on schema cast_shop to public;
-- A sequence, since a refusal undoes what else the cast wrote.
create sequence cast_shop.ran_with_our_rights;
grant usage on sequence cast_shop.ran_with_our_rights to public;
create table cast_shop.film (code text not null, title text);
create table cast_shop.note (code text not null, title text);
insert into cast_shop.film values ('F-1', 'M');
create type cast_shop.sly as (v text);
create function cast_shop.sly_to_text(p_sly cast_shop.sly) returns text language plpgsql as $$
begin
  if current_user = 'chancery_definer' then
    perform nextval('cast_shop.ran_with_our_rights');
  end if;
  return (p_sly).v;
end $$;
create cast (cast_shop.sly as text) with function cast_shop.sly_to_text(cast_shop.sly);
do $claim$
declare
  v_table regclass;
  v_answer jsonb;
  v_statement text;
begin
  foreach v_table in array array['cast_shop.film', 'cast_shop.note']::regclass[] loop
    perform set_config('role', 'chancery_definer', true);
    v_answer := birth.fn_family_put(v_table, 'code', 'title', null, 600, null, false, null, 'chancery');
    perform set_config('role', 'none', true);
    for v_statement in select jsonb_array_elements_text(v_answer -> 'statements') loop
      execute format('%s', v_statement);
    end loop;
  end loop;
end
$claim$;
alter table cast_shop.note alter column title type cast_shop.sly using row(title)::cast_shop.sly;
-- The trigger on changes of the code holds its type; an owner can take it away and put it back.
drop trigger aaa_chancery_birth_code on cast_shop.film;
alter table cast_shop.film alter column code type cast_shop.sly using row(code)::cast_shop.sly;
do $claim$
begin
  perform t.refused('RB018', $$insert into cast_shop.note values ('N-1', row('x')::cast_shop.sly)$$);
  perform t.refused('RB018', $$insert into cast_shop.film values (row('F-2')::cast_shop.sly, 'x')$$);
  perform t.refused('RB018', $$delete from cast_shop.film$$);
  perform t.equal((select s.is_called::text from cast_shop.ran_with_our_rights s), 'false');
end
$claim$;
