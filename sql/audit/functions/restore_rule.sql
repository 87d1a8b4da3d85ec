-- owner: chancery_owner
-- promise: a rule row is again what its history says: the newest entry that a function of ours or a release wrote, or a hand where a hand
--          may. A row that no such entry tells of is deleted. Returns whether anything was changed.
-- callers: the migrator (chancery migrate), for rows that differ
-- Dynamic SQL writes one row of one table of audit.rule_table, with %I of its columns and values bound; no move comes by.
create or replace function audit.restore_rule(p_table text, p_key text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO'
as $$
declare
  v_rule audit.rule_table;
  v_good audit.rule_change;
  v_columns text;
  v_done bigint;
begin
  select r.table_name, r.key_columns, r.by_hand into strict v_rule from audit.rule_table r where r.table_name = p_table;
  select c.* into v_good from audit.rule_change c
   where c.table_name = p_table and c.row_key = p_key and (c.via <> 'hand' or v_rule.by_hand)
   order by c.rule_change_id desc limit 1;
  if v_good.row_value is null then
    execute format('delete from %s t where audit.rule_key(to_jsonb(t), $1) = $2', p_table::regclass) using v_rule.key_columns, p_key;
  else
    select string_agg(format('%I', a.attname), ', ' order by a.attnum) into v_columns
      from pg_attribute a where a.attrelid = p_table::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and v_good.row_value ? a.attname;
    execute format('update %s t set (%s) = (select %s from jsonb_populate_record(null::%s, $3)) where audit.rule_key(to_jsonb(t), $1) = $2',
                   p_table::regclass, v_columns, v_columns, p_table::regclass) using v_rule.key_columns, p_key, v_good.row_value;
    get diagnostics v_done = row_count;
    if v_done = 0 then
      execute format('insert into %s (%s) overriding system value select %s from jsonb_populate_record(null::%s, $1)',
                     p_table::regclass, v_columns, v_columns, p_table::regclass) using v_good.row_value;
    end if;
  end if;
  return true;
end
$$;
