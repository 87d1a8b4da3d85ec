-- What a database has of ours, as (kind, name, definition, rights): the same text on every server version that we run on. Catalogues
-- only, so any login can ask, and no function of ours takes part: one that was replaced could not lie about itself.
with
ours as (
  select n.oid, n.nspname, n.nspowner, n.nspacl from pg_namespace n
   where n.nspname = any ($1)
),
roles as (
  select r.oid, r.rolname from pg_roles r where r.rolname = any ($2)
),
-- Who may do what, in words, so that a difference can say which. MAINTAIN came with PostgreSQL 17 and reads nothing. A partition's owner
-- loses rights when it is made, and those of a table under admission get theirs when it is protected.
rights as (
  select g.kind, g.oid, string_agg(g.text, ' ' order by g.text) as text
    from (select o.kind, o.oid, concat(o.label, coalesce(r.rolname, 'PUBLIC'), '=', string_agg(concat(lower(a.privilege_type), case when a.is_grantable then '*' end), ','
                 order by a.privilege_type, a.is_grantable)) as text
            from (select 'relation' as kind, c.oid, case when c.relispartition then c.relowner end as but, '' as label,
                         coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)) as acl
                    from pg_class c where c.relnamespace in (select oid from ours)
                  union all
                  select 'relation', a.attrelid, null, a.attname || ':', a.attacl
                    from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace in (select oid from ours) and a.attacl is not null and not a.attisdropped
                  union all
                  select 'function', p.oid, null, '', coalesce(p.proacl, acldefault('f', p.proowner)) from pg_proc p where p.pronamespace in (select oid from ours)
                  union all
                  select 'type', t.oid, null, '', coalesce(t.typacl, acldefault('T', t.typowner)) from pg_type t where t.typnamespace in (select oid from ours) and t.typtype = 'd'
                  union all
                  select 'schema', n.oid, null, '', coalesce(n.nspacl, acldefault('n', n.nspowner)) from ours n) o
           cross join aclexplode(o.acl) a
            left join pg_roles r on r.oid = a.grantee
           where a.privilege_type <> 'MAINTAIN' and a.grantee is distinct from o.but
             and not (o.kind = 'schema' and a.privilege_type = 'USAGE' and a.grantee <> 0 and a.grantee not in (select oid from roles)
                      and exists (select from ours n where n.oid = o.oid and n.nspname = 'birth'))
           group by o.kind, o.oid, o.label, r.rolname) g
   group by g.kind, g.oid
),
-- A partition is named by its table: they come and go with time, and one is like the other.
relations as (
  select c.oid, c.relkind, c.relpersistence, c.relowner, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, c.relispartition, c.reltype,
         n.nspname as room,
         case when c.relispartition then pn.nspname || '.' || p.relname || ' partition' else n.nspname || '.' || c.relname end as name
    from pg_class c
    join ours n on n.oid = c.relnamespace
    left join pg_inherits i on i.inhrelid = c.oid and c.relispartition
    left join pg_class p on p.oid = i.inhparent
    left join pg_namespace pn on pn.oid = p.relnamespace
),
functions as (
  select p.*, n.nspname, l.lanname, n.nspname = 'birth' and p.proname ~ '^family_[0-9]+$' and p.pronargs = 0 as is_family
    from pg_proc p join ours n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
),
columns as (
  select a.attrelid,
         string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
                              nullif(a.attidentity, ''), nullif(a.attgenerated, ''), pg_get_expr(d.adbin, d.adrelid),
                              case when a.attcollation <> 0 and a.attcollation <> t.typcollation then a.attcollation::regcollation::text end), E'\n' order by a.attnum) as text
    from pg_attribute a
    join relations r on r.oid = a.attrelid
    join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where a.attnum > 0 and not a.attisdropped
   group by a.attrelid
)
select 'schema' as kind, n.nspname::text as name, pg_get_userbyid(n.nspowner)::text as definition, r.text as rights
  from ours n left join rights r on r.kind = 'schema' and r.oid = n.oid
union all
select case when f.is_family then 'family' else 'function' end,
       case when f.is_family then 'birth.family_N()' else format('%I.%I(%s)', f.nspname, f.proname, pg_get_function_identity_arguments(f.oid)) end,
       concat_ws(E'\n', f.prokind, pg_get_function_arguments(f.oid), pg_get_function_result(f.oid), f.lanname, f.provolatile, f.prosecdef, f.proisstrict,
                 f.proleakproof, f.proparallel, f.prosupport::oid, array_to_string(f.proconfig, ','), f.probin, f.prosqlbody is null, pg_get_userbyid(f.proowner),
                 case when not f.is_family then f.prosrc end),
       case when not f.is_family then r.text end
  from functions f left join rights r on r.kind = 'function' and r.oid = f.oid
union all
-- What is made from rows that people change is compared with what would be made from them now, and not with the release. The number of a
-- type of PostgreSQL's own is left out: the owner of a table can change a column's type, and the function then refuses by itself.
select 'generated', format('%I.%I(%s)', f.nspname, f.proname, pg_get_function_identity_arguments(f.oid)),
       regexp_replace(f.prosrc, '<> ([0-9]{1,4}|1[0-5][0-9]{3}|16[0-2][0-9]{2}|163[0-7][0-9]|1638[0-3])::regtype', '<> a type', 'g'), null
  from functions f where f.is_family
union all
select 'generated', r.name || ' ' || t.tgname, substring(pg_get_triggerdef(t.oid) from '''(\{[^'']*\})'''), null
  from pg_trigger t join relations r on r.oid = t.tgrelid where r.name = 'queue.job_queue' and t.tgname = 'job_moves_along_edges'
union all
select case c.relkind when 'v' then 'view' when 'm' then 'view' when 'S' then 'sequence' when 'c' then 'type' else 'table' end, c.name,
       concat_ws(E'\n', c.relkind, c.relpersistence, pg_get_userbyid(c.relowner), c.relrowsecurity, c.relforcerowsecurity,
                 case when c.relkind in ('v', 'm') then array_to_string(c.reloptions, ',') end,
                 case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end, k.text,
                 -- How a view's text is written differs from version to version, and after a restore, in line breaks, parentheses, names of inner
                 -- columns and in whether a column names its
                 -- table. What it rests on, column by column, does not.
                 case when c.relkind in ('v', 'm') then (
                   select concat_ws(E'\n', regexp_replace(regexp_replace(regexp_replace(pg_get_viewdef(c.oid), '\mAS [a-z_0-9"]+', '', 'g'), '\m[a-z_0-9]+\.(?=[a-z_"])', '', 'g'), '[\s()]+', '', 'g'),
                          string_agg(distinct concat_ws(' ', d.refclassid::regclass, pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)), E'\n'))
                     from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.deptype = 'n'
                    where w.ev_class = c.oid) end),
       r.text
  from relations c
  left join columns k on k.attrelid = c.oid
  left join rights r on r.kind = 'relation' and r.oid = c.oid
 where c.relkind not in ('i', 'I', 't')
union all
select 'domain', n.nspname || '.' || t.typname, concat_ws(E'\n', format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault, pg_get_userbyid(t.typowner)), r.text
  from pg_type t join ours n on n.oid = t.typnamespace left join rights r on r.kind = 'type' and r.oid = t.oid
 where t.typtype = 'd'
union all
select 'type', n.nspname || '.' || t.typname, concat_ws(E'\n', t.typtype, (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)), null
  from pg_type t join ours n on n.oid = t.typnamespace
 where t.typtype not in ('d', 'c') and not (t.typtype = 'b' and t.typelem <> 0 and t.typsubscript = 'array_subscript_handler'::regproc)
union all
-- A dump and a restore leave out parentheses that a condition does not need.
-- What holds a foreign key is triggers of PostgreSQL's own, and they can be off. NOT NULL stands with its column.
select 'constraint', concat(coalesce(c.name, n.nspname || '.' || t.typname), ' ', case when c.relispartition then 'of its own' else k.conname end),
       concat_ws(E'\n', case when k.contype = 'c' then regexp_replace(pg_get_constraintdef(k.oid), '[\s()]+', '', 'g') else pg_get_constraintdef(k.oid) end, k.condeferrable, k.condeferred, k.convalidated,
                 (select string_agg(distinct g.tgenabled::text, '' order by g.tgenabled::text) from pg_trigger g where g.tgconstraint = k.oid and g.tgisinternal)), null
  from pg_constraint k
  left join relations c on c.oid = k.conrelid
  left join pg_type t on t.oid = k.contypid
  left join ours n on n.oid = t.typnamespace
 where (c.oid is not null or n.oid is not null) and k.contype in ('c', 'f', 'p', 'u', 'x') and not (c.relispartition is true and (k.conparentid <> 0 or k.coninhcount > 0))
union all
-- A plain index only makes a search faster: whoever runs the server may add one.
select 'index', n.nspname || '.' || c.relname, concat_ws(E'\n', regexp_replace(pg_get_indexdef(i.indexrelid), '^CREATE (UNIQUE )?INDEX [^ ]+ ON (ONLY )?', '\1'), i.indisvalid, i.indisready, i.indimmediate),
       case when not i.indisunique and i.indexprs is null and i.indpred is null then 'plain' end
  from pg_index i join pg_class c on c.oid = i.indexrelid join ours n on n.oid = c.relnamespace join relations r on r.oid = i.indrelid
 where not r.relispartition
union all
select 'trigger', r.name || ' ' || t.tgname,
       concat_ws(E'\n', t.tgtype, t.tgenabled, t.tgfoid::regproc, encode(t.tgargs, 'hex'), t.tgdeferrable, t.tginitdeferred, t.tgoldtable, t.tgnewtable,
                 (select string_agg(a.attname, ',' order by u.place) from unnest(t.tgattr::int2[]) with ordinality u (num, place) join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = u.num),
                 regexp_replace(regexp_replace(substring(pg_get_triggerdef(t.oid) from 'WHEN \(.*\) EXECUTE '), '[\s()]+', '', 'g'), case when t.tgname = 'job_moves_along_edges' then '''\{[^'']*\}''' else '^$' end, '...')), null
  from pg_trigger t join relations r on r.oid = t.tgrelid
 where not t.tgisinternal
union all
select 'rule', r.name || ' ' || w.rulename, pg_get_ruledef(w.oid), null
  from pg_rewrite w join relations r on r.oid = w.ev_class where w.rulename <> '_RETURN'
union all
select 'policy', r.name || ' ' || p.polname, concat_ws(' ', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), null
  from pg_policy p join relations r on r.oid = p.polrelid
union all
-- Rows of a foreign table that inherits from ours would be read as ours.
select 'heir', concat(r.name, ' <- ', n.nspname, '.', c.relname), 'a table that inherits', null
  from pg_inherits i join relations r on r.oid = i.inhparent join pg_class c on c.oid = i.inhrelid join pg_namespace n on n.oid = c.relnamespace
 where r.relkind in ('r', 'p') and (not c.relispartition or n.oid not in (select oid from ours))
union all
select 'membership', concat(g.rolname, ' to ', m.rolname), concat_ws(' ', x.admin_option, coalesce((to_jsonb(x) ->> 'inherit_option')::boolean, m.rolinherit)), null
  from pg_auth_members x join pg_roles g on g.oid = x.roleid join pg_roles m on m.oid = x.member
 where (g.oid in (select oid from roles) or m.oid in (select oid from roles))
   -- Who makes roles installs the product, and may become each of them.
   and not (m.oid not in (select oid from roles) and (m.rolsuper or m.rolcreaterole))
   -- What the tables of users need, where the whole cluster is ours (see the check of backups).
   and not (g.rolname = 'pg_read_all_data' and m.rolname = 'chancery_backup')
union all
select 'role', r.rolname, concat_ws(' ', r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolreplication, r.rolbypassrls), null
  from pg_roles r where r.oid in (select oid from roles)
union all
-- Settings that change what a statement means or whom it obeys. What only bounds or tunes is the business of whoever runs the server.
select 'setting', concat_ws(' ', coalesce(r.rolname, 'every login'), split_part(c.setting, '=', 1)), c.setting, null
  from pg_db_role_setting s left join pg_roles r on r.oid = s.setrole, unnest(s.setconfig) c (setting)
 where (s.setrole = 0 or s.setrole in (select oid from roles)) and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
   and split_part(c.setting, '=', 1) in (
         'search_path', 'session_replication_role', 'session_preload_libraries', 'local_preload_libraries', 'plpgsql.variable_conflict', 'role',
         'synchronous_commit', 'default_transaction_isolation', 'default_transaction_read_only', 'transform_null_equals', 'array_nulls',
         'standard_conforming_strings', 'row_security')
   and not (s.setrole = 0 and split_part(c.setting, '=', 1) = 'search_path')
union all
select 'database', concat_ws(' ', coalesce(r.rolname, 'PUBLIC'), a.privilege_type), 'granted', null
  from pg_database d cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a left join pg_roles r on r.oid = a.grantee
 where d.datname = current_database() and (a.grantee = 0 and a.privilege_type <> 'CONNECT' or a.grantee in (select oid from roles))
union all
select 'default right', concat_ws(' ', o.rolname, n.nspname, d.defaclobjtype), (
       select string_agg(concat(coalesce(r.rolname, 'PUBLIC'), '=', a.privilege_type), ' ' order by r.rolname nulls first, a.privilege_type)
         from aclexplode(d.defaclacl) a left join pg_roles r on r.oid = a.grantee where a.privilege_type <> 'MAINTAIN'), null
  from pg_default_acl d join pg_roles o on o.oid = d.defaclrole left join pg_namespace n on n.oid = d.defaclnamespace
 where o.oid in (select oid from roles) or n.oid in (select oid from ours)
union all
-- What is not ours and yet runs as us, or is found in front of ours.
select 'foreign function', p.oid::regprocedure::text, concat_ws(' ', pg_get_userbyid(p.proowner), case when p.prosecdef then 'security definer' end), null
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.oid not in (select oid from ours)
   and (p.prosecdef and p.proowner in (select oid from roles)
        or n.nspname = 'pg_catalog' and p.oid >= 16384 and not exists (
             select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))
union all
select 'foreign view', c.oid::regclass::text, pg_get_userbyid(c.relowner), null
  from pg_class c
 where c.relkind in ('v', 'm') and c.relowner in (select oid from roles) and c.relnamespace not in (select oid from ours)
