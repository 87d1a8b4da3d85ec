-- promise: the columns of a family's code, in their order.
create or replace function birth.code_columns(p_code_column text) returns text[]
language sql immutable parallel safe
as $$ select string_to_array(p_code_column, ',') $$;
