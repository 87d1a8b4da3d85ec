create or replace view audit.v_rule_change with (security_barrier) as
select t.rule_change_id, t.at, t.login_role, t.via, t.table_name, t.row_key, t.columns, t.row_value, t.value_digest
  from audit.rule_change t;
comment on view audit.v_rule_change is 'Who changed which rule, through what, and how the row read afterwards.';
