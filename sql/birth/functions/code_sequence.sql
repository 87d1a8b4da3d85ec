-- promise: the sequence that a family's code column takes its default from: of an identity, of serial, or of nextval() alone; null when there is
--          none, or when the default says more than that.
-- callers: birth.fn_codes_draw, birth.fn_family_put
create or replace function birth.code_sequence(p_family birth.family) returns oid
language sql stable
as $$
  select coalesce(
      (select d.objid from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid and d.refobjsubid = a.attnum and d.deptype = 'i'),
      (select d.refobjid from pg_attrdef k
         join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = k.oid and d.refclassid = 'pg_class'::regclass
         join pg_class s on s.oid = d.refobjid and s.relkind = 'S'
        where k.adrelid = a.attrelid and k.adnum = a.attnum and pg_get_expr(k.adbin, k.adrelid) ~ E'^nextval\\(''.*''::regclass\\)$'))
    from pg_attribute a
   where a.attrelid = p_family.relation and a.attname = p_family.code_column and a.attnum > 0 and not a.attisdropped
     and a.atttypid = any (array['int2'::regtype, 'int4'::regtype, 'int8'::regtype]::oid[])
$$;
