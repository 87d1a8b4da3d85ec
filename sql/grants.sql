-- The entire privilege matrix. Tables are private: the definer reads and writes them, evidence it can only append;
-- logins get doors (EXECUTE) and views (SELECT), nothing else.

-- What somebody gave by hand does not outlive a release: each owner takes back everything first.
do $revoke$
declare
  v_owner text;
  v_object record;
  v_holders constant text := 'public, chancery_app, chancery_migrator, chancery_backup, auditor_ro, cutter_exec, cutter_verify, cutter_review, cutter_ro';
begin
  foreach v_owner in array array['chancery_owner', 'chancery_definer'] loop
    execute format('set local role %I', v_owner);
    for v_object in
      select case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as name
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ('internal', 'config', 'identity', 'event', 'fsm', 'audit') and c.relkind in ('r', 'p', 'v', 'S')
         and c.relowner = v_owner::regrole
      union all
      select 'function', p.oid::regprocedure::text
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname in ('internal', 'config', 'identity', 'event', 'fsm', 'audit') and p.proowner = v_owner::regrole
    loop
      execute format('revoke all on %s %s from %s', v_object.kind, v_object.name, v_holders);
    end loop;
  end loop;
end
$revoke$;

-- What the owner of the tables gives.
set local role chancery_owner;

-- definer → tables
grant select, insert, update on config.message to chancery_definer;
grant select on config.dot_config, config.refusal to chancery_definer, chancery_guard;
grant select on identity.actor_class, identity.login_actor_class to chancery_definer;
grant select, insert, update on identity.principal to chancery_definer;
grant select, insert on identity.identity_log to chancery_definer;
grant select, insert, update (revoked_at, revoke_reason) on identity.signing_key to chancery_definer;
grant select, insert on event.event_type_registry, event.event_outbox, event.event_position, event.event_sequenced,
  event.event_validation_audit to chancery_definer;
grant select, insert, update on event.sequencer_cursor to chancery_definer;
grant select, insert, delete on fsm.state_def, fsm.state_facet_def, fsm.transition_def, fsm.rollup_policy_def, fsm.invariant_def
  to chancery_definer;
grant select, insert, update, delete on fsm.state_machine_def, fsm.guard_def to chancery_definer;
grant update (login_roles, config_rules, config_rule, data_rule, reads, event_active, needs_payload) on fsm.transition_def to chancery_definer;
grant select on fsm.run_kind_def, fsm.lock_target_def to chancery_definer;
grant select, insert, update (state_code, facet, seq, head_hash, last_transition_at) on fsm.run to chancery_definer;
grant select, insert on fsm.transition_log to chancery_definer;
-- Events come from the engine alone: not even the tables' owner writes them.
revoke insert, update, delete, truncate on event.event_outbox, event.event_outbox_default from chancery_owner;
-- guards read, nothing more
grant select on fsm.run, fsm.transition_log, fsm.state_def to chancery_guard;

-- logins → schemas
grant usage on schema internal, config, identity, event, fsm to
  chancery_app, chancery_migrator, chancery_backup, auditor_ro, cutter_exec, cutter_verify, cutter_review;

grant select on config.refusal, config.message, config.dot_config, internal.release, internal.migration
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant execute on function event.fn_ensure_partitions(integer) to chancery_definer, chancery_migrator;
-- A backup reads every table and writes none. (Views of the same schemas are not the owner's to give.)
do $backup$
declare
  v_table text;
begin
  for v_table in
    select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('internal', 'config', 'identity', 'event', 'fsm', 'audit') and c.relkind in ('r', 'p', 'S')
  loop
    execute format('grant select on %s to chancery_backup', v_table);
  end loop;
end
$backup$;

-- What the owner of the functions and views gives.
set local role chancery_definer;

-- logins → doors
grant execute on function
  fsm.fn_state_transition_apply(uuid, text, text, text, text, text, text, jsonb, text, text, text, bytea, uuid, bytea),
  fsm.fn_state_transition_apply_batch(jsonb),
  fsm.fn_state_transition_validate(uuid, text, text, text, text, text, text, jsonb, text),
  event.fn_event_validation_record(text, text, jsonb)
  to chancery_app, cutter_exec, cutter_verify, cutter_review;
grant execute on function
  fsm.fn_run_start(uuid, text, jsonb, text, text, text, jsonb, text, text, text, uuid, text, text, uuid, bytea),
  event.fn_sequence_events(integer)
  to chancery_app;
-- The operator's doors. Its login inherits nothing from the owners it can become: by hand it has these and no table.
grant execute on function
  fsm.fn_machine_apply(jsonb, text, text, boolean),
  fsm.fn_guard_register(text, text, text[], text),
  event.fn_event_type_register(jsonb),
  identity.fn_principal_add(text, text, text[], text),
  identity.fn_principal_revoke(text, text[], text),
  identity.fn_principal_set_active(text, boolean, text),
  identity.fn_key_register(uuid, text, bytea, uuid, text),
  identity.fn_key_revoke(uuid, text, text)
  to chancery_migrator;
-- Triggers are made by the tables' owner, who must be allowed to name their functions; so are those of new partitions.
grant execute on function internal.refuse_direct_write(), internal.refuse_other_logins(), fsm.recompile() to chancery_owner;
-- refuse_other_logins refuses with the rights of whoever writes: that can be the owner.
grant execute on function internal.refuse(jsonb), internal.problem(text, jsonb) to chancery_owner;

-- logins → views; a function in a view is called with the reader's rights
grant execute on function
  event.cloudevent(uuid, text, timestamptz, bigint, text, uuid, bigint, text, text, text, text, text, jsonb)
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant select on fsm.v_run, fsm.v_run_facts, fsm.v_history, fsm.v_transition_log, fsm.v_machine, event.v_event, identity.v_principal, identity.v_signing_key
  to chancery_app, chancery_migrator, auditor_ro, cutter_exec, cutter_verify, cutter_review;
grant select on identity.v_identity_log, event.v_event_validation_audit to chancery_migrator, auditor_ro;
