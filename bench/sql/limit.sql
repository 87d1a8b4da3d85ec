-- The limit: the same rows with the same indexes and the same check at COMMIT, written by hand without any rule evaluation.
create schema bench;
create table bench.run (like fsm.run including all) with (fillfactor = 85);
create table bench.transition_log (like fsm.transition_log including all);
create table bench.event_outbox (like event.event_outbox including all) partition by range (created_at);
create table bench.event_outbox_today partition of bench.event_outbox for values from (current_date) to (current_date + 2);

-- The very function that holds the engine's runs to their log, with the same rights, on these tables.
do $same$
begin
  execute replace(replace(replace(pg_get_functiondef('fsm.assert_log_custom'::regproc),
    'fsm.assert_log_custom', 'bench.assert_log'), 'fsm.transition_log', 'bench.transition_log'), 'fsm.run', 'bench.run');
end
$same$;
alter function bench.assert_log() owner to chancery_definer;
create constraint trigger run_state_equals_log after insert or update on bench.run
  deferrable initially deferred for each row execute function bench.assert_log();

grant usage on schema bench to chancery_definer;
grant select on all tables in schema bench to chancery_definer;
grant usage on schema bench, internal to chancery_app;
grant select, insert, update on all tables in schema bench to chancery_app;
grant execute on function internal.uuid_v7(), internal.now(),
  internal.log_hash(uuid, bigint, uuid, text, text, text, text, text, text, text, text, text, text, text, text, text, bytea, text, uuid, bytea, timestamptz, bytea)
  to chancery_app;
