//! What happens behind the back of a run.

use super::scene::Scene;

/// Switches every trigger off, those that the owner cannot pass as well; the caller's transaction ends with a rollback, or with
/// [`CLOSE`]. What is pending is checked first: a table with pending checks cannot be altered.
pub(crate) const OPEN: &str = "
    set constraints all immediate;
    do $open$
    declare
      v_table text;
    begin
      for v_table in select format('%I.%I', schemaname, tablename) from pg_tables
                      where schemaname in ('iu', 'cutter_governance', 'kb', 'identity', 'approval', 'config', 'orchestrator', 'fsm')
      loop
        execute 'alter table ' || v_table || ' disable trigger all';
      end loop;
    end
    $open$;";

/// Switches every trigger on again: those of the database itself as they are born, all others so that nobody passes them.
pub(crate) const CLOSE: &str = "
    do $close$
    declare
      v_trigger record;
    begin
      for v_trigger in select t.tgrelid::regclass as its_table, t.tgname, t.tgisinternal from pg_trigger t
                        where t.tgenabled = 'D' and t.tgparentid = 0
      loop
        execute format('alter table %s enable %s trigger %I', v_trigger.its_table,
                       case when v_trigger.tgisinternal then '' else 'always' end, v_trigger.tgname);
      end loop;
    end
    $close$;";

impl Scene {
    /// The server cuts the line of whoever takes a run into this state: the run is left in the state before it, as after a crash.
    pub(crate) fn hold_before(&self, state: &str) {
        self.one(&format!(
            "create schema brake;
             grant usage on schema brake to public;
             create function brake.pull() returns trigger language plpgsql security definer as
               'begin perform pg_terminate_backend(pg_backend_pid(), 10000); return null; end';
             create trigger brake before update on orchestrator.run for each row when (new.state_code = '{state}')
               execute function brake.pull()"
        ));
    }

    pub(crate) fn release(&self) {
        self.one("drop schema brake cascade");
    }

    /// Something that only somebody who can switch off triggers does.
    pub(crate) fn behind_the_doors(&self, sql: &str) {
        self.one(&format!("begin; {OPEN} {sql}; {CLOSE} commit"));
    }

    /// What somebody with the executor's login does.
    pub(crate) fn as_executor(&self, sql: &str) -> String {
        self.one(&format!("set session authorization cutter_exec; {sql}"))
    }

    /// Starts a run under a known name; it ends with this exit code.
    pub(crate) fn begin(&self, document: &str, exit: i32) -> String {
        let said = self.orchestrate(&["start", document, "--as", "executor"]).ends_with(exit);
        let name = said.stderr.lines().find_map(|line| line.strip_prefix("run "));
        name.unwrap_or_else(|| panic!("no run: {said:?}")).to_owned()
    }

    /// A run that stands before this state, after its line to the database was cut.
    pub(crate) fn held(&self, document: &str, state: &str) -> String {
        self.hold_before(state);
        let run = self.begin(document, 1);
        self.release();
        run
    }
}

/// The run's id in the database.
pub(crate) fn id(run: &str) -> &str {
    &run[22..]
}
