-- The limit of writing units: the same tables with the same indexes, checks and foreign keys, without gates and stamps.
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
grant execute on function internal.uuid_v7(), internal.now() to cutter_exec;
