-- promise: a rule row that no history tells of yet has its first entry. Called while a release is applied, for rows that are older than the
--          history: what they were before nobody kept. A row that has entries is left alone, also one that differs from them.
-- callers: the migrator (audit/triggers.sql)
create or replace function audit.begin_rule_history() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  insert into audit.rule_change (at, login_role, via, table_name, row_key, columns, row_value, value_digest)
  select internal.now(), session_user, 'release', r.table_name, r.row_key, audit.rule_columns(r.row_value), r.row_value,
         audit.rule_digest(r.row_value, audit.rule_columns(r.row_value))
    from audit.rule_rows() r
   where not exists (select from audit.rule_change c where c.table_name = r.table_name and c.row_key = r.row_key)
   order by r.table_name, r.row_key;
end
$$;
