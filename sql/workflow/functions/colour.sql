-- promise: red overrides yellow overrides green; nothing that counts is gray.
create or replace function workflow.colour(p_red integer, p_yellow integer, p_green integer) returns text
language sql immutable
as $$ select case when p_red > 0 then 'red' when p_yellow > 0 then 'yellow' when p_green > 0 then 'green' else 'gray' end $$;
