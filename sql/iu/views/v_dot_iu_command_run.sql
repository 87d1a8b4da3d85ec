create or replace view iu.v_dot_iu_command_run with (security_barrier) as
select r.command_run_id, r.command_name, r.run_mode, r.phase, r.status, r.request_hash, r.attempt, r.before_state, r.after_state, r.actor, r.login_role, r.at, r.row_digest, r.digest_version
  from iu.dot_iu_command_run r;
comment on view iu.v_dot_iu_command_run is 'The ledger of DOT commands, a step a row.';
