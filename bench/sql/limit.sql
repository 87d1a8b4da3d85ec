-- The limit: the same rows with the same indexes and the same check at COMMIT, written by hand without any rule evaluation.
create schema bench;
create table bench.run (like fsm.run including all) with (fillfactor = 85);
create table bench.transition_log (like fsm.transition_log including all);
create table bench.event_outbox (like event.event_outbox including all) partition by range (created_at);
create table bench.event_outbox_today partition of bench.event_outbox for values from (current_date) to (current_date + 2);

create function bench.assert_log() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  v_run record;
  v_log record;
begin
  select r.state_code, r.seq, r.head_hash, r.last_transition_at, r.facet into v_run from bench.run r where r.run_id = new.run_id;
  select l.to_state, l.seq, l.hash, l.at, l.facet into v_log
    from bench.transition_log l where l.run_id = new.run_id order by l.seq desc limit 1;
  if v_log.seq is null or v_run.seq <> v_log.seq or v_run.state_code <> v_log.to_state or v_run.head_hash <> v_log.hash
     or v_run.last_transition_at <> v_log.at or v_run.facet is distinct from v_log.facet then
    raise exception 'state and log disagree';
  end if;
  return null;
end
$$;
create constraint trigger run_state_equals_log after insert or update on bench.run
  deferrable initially deferred for each row execute function bench.assert_log();

grant usage on schema bench, internal to chancery_app;
grant select, insert, update on all tables in schema bench to chancery_app;
grant execute on function internal.uuid_v7(), internal.now(),
  internal.log_hash(uuid, bigint, uuid, text, text, text, text, text, text, text, text, text, text, text, text, text, bytea, text, uuid, bytea, timestamptz, bytea)
  to chancery_app;
