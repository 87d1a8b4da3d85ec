-- promise: every row of every rule table as it is now, each with its name.
-- callers: audit.fn_rule_rows, audit.begin_rule_history, audit.restore_rules
-- Dynamic SQL reads tables by the names of audit.rule_table, with %s of a regclass and %L; nothing is written, and no move comes by.
create or replace function audit.rule_rows() returns table (table_name text, row_key text, row_value jsonb)
language plpgsql stable set timezone = 'UTC' set datestyle = 'ISO'
as $$
declare
  v_rule record;
begin
  for v_rule in select r.table_name, r.key_columns from audit.rule_table r order by r.table_name loop
    return query execute format('select %L::text, audit.rule_key(to_jsonb(t), %L::text[]), to_jsonb(t) from %s t',
                                v_rule.table_name, v_rule.key_columns, v_rule.table_name::regclass);
  end loop;
end
$$;
