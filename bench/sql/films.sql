-- A table to be protected, which is nobody's in particular, and the same one without triggers.
create schema shop;
create table shop.film (
  code text primary key,
  title text not null,
  minutes integer not null check (minutes > 0),
  price numeric(6, 2) not null default 2.99,
  added_at timestamptz not null default now()
);
create schema if not exists bench;
create table bench.film (like shop.film including all);
create table bench.bare_film (like shop.film including all);
grant usage on schema bench to birth_writer;
grant insert on all tables in schema bench to birth_writer;
