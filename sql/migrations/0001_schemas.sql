-- Locks nothing of yours: makes the schemas of the ground. One noun, one schema, one folder.
create schema internal;
create schema config;
create schema identity;
create schema event;
create schema fsm;
create schema audit;

grant usage, create on schema internal, config, identity, event, fsm, audit to chancery_definer;
grant usage on schema internal, config, identity, event, fsm, audit to chancery_guard;

create table internal.migration (
  version integer primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default clock_timestamp()
);
comment on table internal.migration is 'Migrations applied to this database, with the digest of their text.';

create table internal.release (
  only_one boolean primary key default true,
  product_version text not null,
  schema_version integer not null,
  bundle_sha256 text not null,
  applied_at timestamptz not null,
  constraint release_has_one_row check (only_one)
);
comment on table internal.release is 'What is installed: product version, newest migration, digest of the whole SQL text.';
