-- promise: the statements that put a family's table under its triggers, for the table's owner to run. All ENABLE ALWAYS; on a
--          partitioned table they reach every partition, also those that come later. Names that sort last among the gates: what the
--          owner's own triggers make of the code is what counts.
-- callers: birth.arm, birth.fn_family_put
-- Dynamic SQL is made here and run elsewhere, with %I and %s of a regclass only.
create or replace function birth.arming(p_collection text) returns text[]
language plpgsql stable
as $$
declare
  v_family birth.family;
  v_table text;
  v_function text;
begin
  select f.* into strict v_family from birth.family f where f.collection_name = p_collection;
  v_table := v_family.relation::regclass::text;
  v_function := format('birth.%I', 'family_' || v_family.family_no);
  return array[
    format('create or replace trigger zzz_chancery_birth_gate before insert on %s for each row execute function %s()', v_table, v_function),
    format('create or replace trigger aaa_chancery_birth_born after insert on %s for each row execute function %s()', v_table, v_function),
    format('create or replace trigger aaa_chancery_birth_left after delete on %s for each row execute function %s()', v_table, v_function),
    format('create or replace trigger aaa_chancery_birth_code after update on %s for each row when (%s) execute function %s()',
           v_table, (select string_agg(format('old.%1$I::text collate pg_catalog."C" is distinct from new.%1$I::text collate pg_catalog."C"', c.name), ' or ' order by c.n)
                       from unnest(birth.code_columns(v_family.code_column)) with ordinality c (name, n)), v_function),
    format('drop trigger if exists chancery_birth_finalize on %s', v_table),
    format('create constraint trigger chancery_birth_finalize after insert on %s deferrable initially deferred for each row execute function %s(%L)',
           v_table, v_function, 'finalize'),
    format('alter table %s enable always trigger zzz_chancery_birth_gate', v_table),
    format('alter table %s enable always trigger aaa_chancery_birth_born', v_table),
    format('alter table %s enable always trigger aaa_chancery_birth_left', v_table),
    format('alter table %s enable always trigger aaa_chancery_birth_code', v_table),
    format('alter table %s enable always trigger chancery_birth_finalize', v_table)];
end
$$;
