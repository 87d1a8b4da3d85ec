-- The limit of admission: the same tables with the same indexes and checks, without gates, stamps and assertions.
create schema if not exists bench;
create table bench.birth_admission_permit (like birth.birth_admission_permit including all) with (fillfactor = 50);
create table bench.birth_registry (like birth.birth_registry including all);
create table bench.transition_log (like fsm.transition_log including all);
create table bench.event_outbox (like event.event_outbox including all) partition by range (created_at);
create table bench.event_outbox_today partition of bench.event_outbox for values from (current_date) to (current_date + 2);
grant usage on schema bench, internal, birth to birth_writer, cutter_exec;
grant insert on all tables in schema bench to birth_writer, cutter_exec;
grant execute on function internal.uuid_v7(), internal.now(),
  internal.log_hash(uuid, bigint, uuid, text, text, text, text, text, text, text, text, text, text, text, text, text, bytea, text, uuid, bytea, timestamptz, bytea),
  birth.request_hash(text, text, text, text, text, bytea), birth.permit_digest(uuid, bytea, uuid, text, uuid, timestamptz, timestamptz)
  to birth_writer, cutter_exec;
