-- The limit of writing units, and what a cut does: the same tables with the same indexes, checks and foreign keys, without gates and stamps.
create schema if not exists bench;
create table bench.information_unit (like iu.information_unit including all);
create table bench.unit_version (like iu.unit_version including all);
create table bench.iu_lifecycle_log (like iu.iu_lifecycle_log including all);
alter table bench.information_unit add foreign key (parent_or_container_ref) references bench.information_unit (id);
alter table bench.unit_version add foreign key (unit_id) references bench.information_unit (id);
alter table bench.information_unit add foreign key (version_anchor_ref) references bench.unit_version (id) deferrable initially deferred;
alter table bench.iu_lifecycle_log add foreign key (unit_id) references bench.information_unit (id),
  add foreign key (unit_version_id) references bench.unit_version (id);
grant usage on schema bench, internal to cutter_exec;
grant select, insert, update on all tables in schema bench to cutter_exec;
-- Its indexes are for search as well, and fold what they keep.
grant execute on function internal.uuid_v7(), internal.now(), internal.folded(text) to cutter_exec;

-- As cutter_governance.create_units: one call for all permits, then one call of fn_iu_create a unit.
create function bench.cut_units(p_prefix text, p_titles text[], p_bodies text[], p_ids uuid[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform birth.reserve('iu.information_unit', array(
    select row(null, u.id::text, p_prefix || '/h' || u.n, null, null, null, null)::birth.permit_ask from unnest(p_ids) with ordinality u (id, n)),
    'bench', 'executor_dot991', 'cutter', null, null, null);
  return (
    select count(*) filter (where made.report ->> 'status' = 'created')
      from (select iu.fn_iu_create(p_prefix || '/h' || u.n, u.title, u.body, 'bench', 'design_doc_section', 'heading', null, 'document', null, u.n::integer,
                                   '{}', u.id) as report
              from unnest(p_titles, p_bodies, p_ids) with ordinality u (title, body, id, n)) made);
end
$$;
alter function bench.cut_units(text, text[], text[], uuid[]) owner to chancery_definer;
grant execute on function bench.cut_units(text, text[], text[], uuid[]) to cutter_exec;
