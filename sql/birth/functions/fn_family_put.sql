-- promise: the table has this policy, its trigger function is there, and the answer has the statements that bind it, for the table's
--          owner to run in the same transaction; birth.v_family says whether they were. What is null is not named: a table that is protected
--          keeps what it has there, another one gets the default. What p_unset names (enforced_from, name_column, rule, ttl_seconds, role) is put
--          back to the default. The same policy again changes nothing. The partitions that there are come under admission with their rows.
-- callers: whoever may become chancery_definer: the administrator who installs the product (chancery birth protect). The table comes
--          by its number: its schema need not be open to us.
-- locks: the families (its turn): one change at a time
-- refuses with: RB018 a table or a policy that does not fit, RI001–RI003
create or replace function birth.fn_family_put(
  p_relation oid, p_code_column text, p_name_column text, p_rule text, p_ttl_seconds integer, p_enforced_from timestamptz, p_approval_required boolean,
  p_role text, p_principal text, p_unset text[] default '{}'
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_collection text;
  v_problem jsonb;
  v_before birth.family;
  v_had birth.family;
  v_after birth.family;
begin
  perform birth.require_operator(p_principal);
  perform internal.take_turn('birth.family');
  -- What was not named stays as it is, where the table is under admission.
  select f.* into v_had from birth.family f where f.relation = p_relation and f.active;
  v_had.code_column := coalesce(p_code_column, v_had.code_column);
  v_had.name_column := coalesce(p_name_column, case when 'name_column' <> all (p_unset) then v_had.name_column end);
  v_had.code_rule := coalesce(p_rule, case when 'rule' <> all (p_unset) then v_had.code_rule end);
  v_had.ttl_seconds := coalesce(p_ttl_seconds, case when 'ttl_seconds' <> all (p_unset) then v_had.ttl_seconds end, 3600);
  v_had.governance_role := coalesce(p_role, case when 'role' <> all (p_unset) then v_had.governance_role end, 'governed');
  v_had.approval_required := coalesce(p_approval_required, v_had.approval_required, false);
  v_had.enforced_from := case
    -- Enforced already is not enforced later.
    when v_had.enforced_from <= p_enforced_from then v_had.enforced_from
    else coalesce(p_enforced_from, case when 'enforced_from' <> all (p_unset) then v_had.enforced_from end) end;
  v_problem := birth.family_problem(p_relation, v_had.code_column, v_had.name_column, v_had.code_rule, v_had.ttl_seconds, v_had.governance_role,
                                    v_had.enforced_from is not null);
  if v_problem is not null then
    perform internal.refuse(jsonb_set(v_problem, '{0,table}', coalesce(to_jsonb(p_relation::regclass), 'null')));
  end if;
  select format('%I.%I', n.nspname, c.relname) into v_collection from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_relation;
  -- A table that was renamed keeps the name under which its births stand; so another that has its old name now needs another one.
  select f.* into v_before from birth.family f where f.relation = p_relation and f.active;
  if found then
    v_collection := v_before.collection_name;
  else
    select f.* into v_before from birth.family f where f.collection_name = v_collection;
    if v_before.active and exists (select from pg_class c where c.oid = v_before.relation) then
      perform internal.refuse(internal.problem('RB018', jsonb_build_object('table', v_collection, 'why', 'name_taken', 'by', v_before.relation::regclass)));
    end if;
  end if;
  insert into birth.family as f (
    collection_name, relation, code_column, name_column, code_rule, ttl_seconds, enforced_from, approval_required, governance_role, declared_by, declared_at)
  values (v_collection, p_relation, v_had.code_column, v_had.name_column, v_had.code_rule, v_had.ttl_seconds, v_had.enforced_from, v_had.approval_required,
          v_had.governance_role, p_principal, internal.now())
  on conflict (collection_name) do update
    set relation = excluded.relation, code_column = excluded.code_column, name_column = excluded.name_column, code_rule = excluded.code_rule,
        ttl_seconds = excluded.ttl_seconds, enforced_from = excluded.enforced_from,
        approval_required = excluded.approval_required, governance_role = excluded.governance_role, active = true
  returning f.* into v_after;
  if v_before is distinct from v_after then
    perform birth.note_family(v_after, case when coalesce(v_before.active, false) then 'changed' else 'protected' end, p_principal);
  end if;
  perform birth.generate_families();
  insert into birth.family_part as p (collection_name, relation, seen_at, came_with_rows)
  select v_collection, l.relid, internal.now(), false from pg_partition_tree(p_relation::regclass) l where l.isleaf and l.relid <> p_relation
  on conflict (collection_name, relation) do update set came_with_rows = false where p.came_with_rows;
  return to_jsonb(v_after) || jsonb_build_object('table', v_after.relation::regclass, 'statements', birth.arming(v_collection), 'grants', (
    select array[format('grant usage on schema %I to birth_writer', n.nspname), format('grant insert on %I.%I to birth_writer', n.nspname, c.relname),
                 -- A backup that cannot read one table is none.
                 format('grant usage on schema %I to chancery_backup', n.nspname)]
           -- Ids that permits are asked for by their number are drawn from the sequence of the code.
           || array(select format('grant usage on sequence %s to chancery_definer', s.oid::regclass) from pg_class s where s.oid = birth.code_sequence(v_after))
           || array(select format('grant select on %s to chancery_backup', t.relid::regclass)
                      from (select c.oid as relid union select l.relid::oid from pg_partition_tree(c.oid::regclass) l) t)
           -- Sequences that its defaults draw from, where they are the owner's as well.
           || array(select distinct format(g.text, s.oid::regclass)
                      from pg_attrdef a
                      join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
                      join pg_class s on s.oid = d.refobjid and s.relkind = 'S' and s.relowner = c.relowner
                      cross join (values ('grant usage on sequence %s to birth_writer'), ('grant select on sequence %s to chancery_backup')) g (text)
                     where a.adrelid = c.oid)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_relation), 'owner', (
    select pg_get_userbyid(c.relowner) from pg_class c where c.oid = p_relation));
end
$$;
