//! Ways to bring a run into trouble, and what must hold of every stop.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use chancery_engine::orchestrator::RunId;
use serde_json::Value;

use super::scene::Scene;
use crate::place::{Held, Said};

impl Scene {
    /// What a superuser does to a table behind its rules; they hold again afterwards.
    pub(crate) fn behind(&self, table: &str, sql: &str) -> String {
        self.one(&format!(
            "create temp table rules on commit drop as
               select tgname, case tgenabled when 'A' then 'always' when 'R' then 'replica' else '' end as kind
                 from pg_trigger where tgrelid = '{table}'::regclass and not tgisinternal and tgenabled <> 'D';
             alter table {table} disable trigger user;
             {sql};
             do $$ declare r record; begin
               for r in select tgname, kind from rules loop
                 execute format('alter table {table} enable %s trigger %I', r.kind, r.tgname);
               end loop;
             end $$"
        ))
    }

    /// Sets the cap of a phase, or of the `run`.
    pub(crate) fn cap(&self, name: &str, minutes: u32) {
        let key = format!("orchestrator.cap_minutes.{name}");
        let sql = format!("update config.dot_config set value = '{minutes}' where key = '{key}'");
        self.behind("config.dot_config", &sql);
    }

    /// A folder where the report of this phase must be put: the run stays right after the phase, as if it had been killed there.
    pub(crate) fn obstacle(&self, run: &str, phase: u8) -> PathBuf {
        let path = self.folder(run).join(format!("phase-{phase:02}.md"));
        fs::create_dir_all(path.join("in-the-way")).expect("a folder");
        path
    }

    /// Starts a run that stays right after this phase.
    pub(crate) fn started_until(&self, document: &str, phase: u8) -> String {
        let run = RunId::new(jiff::Timestamp::now()).to_string();
        let obstacle = self.obstacle(&run, phase);
        let said = self.orchestrate(&["start", document, "--run-id", &run, "--as", "executor"]);
        self.is_in_the_way(&run, &said, obstacle);
        run
    }

    /// Approves and goes on; the run stays right after this phase.
    pub(crate) fn taken_until(&self, run: &str, phase: u8) {
        let obstacle = self.obstacle(run, phase);
        let approval = self.approved(run);
        let said = self.resume(run, Some(&approval));
        self.is_in_the_way(run, &said, obstacle);
    }

    #[track_caller]
    fn is_in_the_way(&self, run: &str, said: &Said, obstacle: PathBuf) {
        assert_eq!(said.exit, Some(1), "{said:?}");
        stopped(said, "STOP_SIDECAR_IO");
        assert!(said.stderr.contains(&format!("resume --run-id {run}`")), "{said:?}");
        fs::remove_dir_all(obstacle).expect("the folder goes away");
    }

    /// A refused or stopped command that changes nothing at all, neither in the database nor in the sidecar.
    #[track_caller]
    pub(crate) fn unchanged(&self, run: &str, what: impl FnOnce() -> Said) -> Said {
        let sidecar = || fs::read(self.folder(run).join("state.json")).ok();
        let before = (self.place.fingerprint(), sidecar());
        let said = what();
        let after = (self.place.fingerprint(), sidecar());
        assert!(before.0 == after.0, "the database changed: {said:?}");
        assert!(before.1 == after.1, "the sidecar changed: {said:?}");
        said
    }

    /// A stopped command that writes nothing to the database.
    #[track_caller]
    pub(crate) fn unchanged_database(&self, what: impl FnOnce() -> Said) -> Said {
        let before = self.place.fingerprint();
        let said = what();
        assert!(before == self.place.fingerprint(), "the database changed: {said:?}");
        said
    }

    /// Both approvals and everything between, from wherever the run stands.
    #[track_caller]
    pub(crate) fn completed(&self, run: &str) {
        for _ in 0..4 {
            let asked = self.orchestrate(&["approve", "--run-id", run, "--show"]);
            let said = if asked.exit == Some(0) {
                let approval = self.approved(run);
                self.resume(run, Some(&approval))
            } else {
                self.resume(run, None)
            };
            if said.exit == Some(0) {
                assert_eq!(self.state(run), "closeout_reported");
                return;
            }
            said.ends_with(4);
        }
        panic!("{run} is {}", self.state(run));
    }

    /// The moves of a run: from, to, and the evidence.
    pub(crate) fn moves(&self, run: &str) -> Vec<Value> {
        let said = self.orchestrate(&["status", "--run-id", run, "--json"]).ends_with(0);
        said.json()["moves"].as_array().expect("moves").clone()
    }

    /// A document of the run, by its name.
    pub(crate) fn paper(&self, run: &str, name: &str) -> String {
        let path = format!("orchestrator/{}/{name}", run.to_lowercase());
        self.place.done(&["kb", "get", &path]).stdout
    }

    /// Nothing that happened here leaves a trace that does not fit.
    #[track_caller]
    pub(crate) fn audit_is_clean(&self) {
        let said = self.place.run(&["audit", "verify", "--all"]);
        assert_eq!(said.exit, Some(0), "{}", said.stdout);
    }
}

impl Scene {
    /// Locks the runs in the database: whoever moves a run waits.
    pub(crate) fn hold_runs(&self) -> Held {
        self.place.hold("select 'held' from orchestrator.run for update;\n")
    }

    /// Begins a command.
    pub(crate) fn begun(&self, args: &[&str]) -> Child {
        self.place
            .command(&[&["cutter", "orchestrate"], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs")
    }

    /// Begins a command and gives it when it waits in the database, as this login.
    pub(crate) fn begun_and_waiting(&self, args: &[&str], login: &str) -> Child {
        let child = self.begun(args);
        let waits = format!(
            "select count(*) from pg_stat_activity where usename = '{login}' and wait_event_type = 'Lock'"
        );
        for _ in 0..500 {
            if self.one(&waits) != "0" {
                return child;
            }
        }
        panic!("{args:?} does not wait: {:?}", child.wait_with_output());
    }
}

/// A stop says its code, its reason and the way forward, and no placeholder of a run.
#[track_caller]
pub(crate) fn stopped(said: &Said, code: &str) {
    assert_eq!(said.stdout, "", "a stop is no data: {said:?}");
    let line = said.stderr.lines().find(|line| line.starts_with(code));
    let line = line.unwrap_or_else(|| panic!("no {code}: {said:?}"));
    assert!(line.len() > code.len() + 12, "a code needs a reason: {said:?}");
    let (_, way) = said.stderr.split_once("\nway forward: ").expect("a way forward");
    assert!(way.trim().len() > 12, "{said:?}");
    assert!(!said.stderr.contains("--run-id RUN"), "{said:?}");
    assert!(!said.stderr.contains("unexpected database error"), "{said:?}");
}
