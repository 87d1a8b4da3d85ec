-- promise: every row of every rule table, and every one that the history knows and the table has no longer: the digest of what stands
--          there, the digest that the history has for it, and who wrote it last, through what. What is to be made of it decides who
--          asks: the release carries the digests of its own rows, so this function can't talk a changed one right.
-- callers: every login that looks at the ground it stands on (chancery doctor, chancery serve)
create or replace function audit.fn_rule_rows() returns table (
  table_name text, row_key text, digest text, recorded text, is_as_recorded boolean, via text, login_role text, changed_at timestamptz, by_hand boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  with newest as (
    select distinct on (c.table_name, c.row_key) c.table_name, c.row_key, c.columns, c.value_digest, c.via, c.login_role, c.at
      from audit.rule_change c order by c.table_name, c.row_key, c.rule_change_id desc
  )
  select coalesce(r.table_name, n.table_name), coalesce(r.row_key, n.row_key),
         case when r.row_value is not null then encode(audit.rule_digest(r.row_value, audit.rule_columns(r.row_value)), 'hex') end, encode(n.value_digest, 'hex'),
         case when r.row_value is null or n.value_digest is null then false
              else audit.rule_digest(r.row_value, n.columns) = n.value_digest end,
         n.via, n.login_role, n.at, coalesce(t.by_hand, false)
    from audit.rule_rows() r
    full join newest n on n.table_name = r.table_name and n.row_key = r.row_key
    left join audit.rule_table t on t.table_name = coalesce(r.table_name, n.table_name)
   where r.row_value is not null or n.value_digest is not null or n.via = 'hand' and not coalesce(t.by_hand, false)
$$;
