//! ORC-11: kill -9 at any instant of any phase, then resume: the same end, exactly N units, nothing twice.
//!
//! The instants are enumerated, not drawn: `strace` ends the runner on entry of the n-th system call that can make a difference, which
//! is everything it sends to the database and every step that replaces its files. By default a seeded slice of them is taken;
//! `CHANCERY_TEST_INSTANTS=all` takes every one, a number so many.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chancery_testkit::slice;

use super::scene::Scene;
use crate::place::run_it;

const UNITS: usize = 4;
/// What the runner does to the world: statements, and files that are made durable and put in place.
const CALLS: [&str; 3] = ["sendto", "fsync", "rename"];
/// How many instants are taken by default.
const SLICE: usize = 3;

/// Three commands take a document to its end; each of them is killed at each of its instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    AfterCutApproval,
    AfterLifecycleApproval,
}

struct Stages {
    scene: Scene,
    run: String,
    approvals: Vec<String>,
}

/// ORC-11.
#[test]
fn a_runner_killed_at_any_instant_goes_on_to_the_same_end() {
    let stages = Stages::prepare();
    let expected = stages.undisturbed();
    let mut instants = Vec::new();
    for stage in [Stage::Start, Stage::AfterCutApproval, Stage::AfterLifecycleApproval] {
        stages.restore(stage);
        for (call, times) in stages.count(stage) {
            instants.extend((1..=times).map(|n| (stage, call, n)));
        }
    }
    assert!(instants.len() >= 300, "only {} instants", instants.len());
    let taken = slice_of(&instants);
    let mut met = 0;
    for (stage, call, n) in &taken {
        stages.restore(*stage);
        met += usize::from(stages.kill(*stage, call, *n));
        let end = stages.finish();
        assert_eq!(
            end,
            expected,
            "killed in {stage:?} at {call} {n} (one of {} of {} instants)",
            taken.len(),
            instants.len()
        );
    }
    assert!(met * 10 >= taken.len() * 8, "only {met} of {} kills met the command", taken.len());
}

impl Stages {
    /// A database before each of the commands, and the folder of runs beside it.
    fn prepare() -> Self {
        let scene = Scene::new();
        scene.document("law", UNITS);
        let mut stages = Self { scene, run: String::new(), approvals: Vec::new() };
        stages.keep(Stage::Start);
        stages.run = stages.scene.started("law");
        stages.approvals.push(stages.scene.approved(&stages.run));
        stages.keep(Stage::AfterCutApproval);
        stages.scene.resume(&stages.run, Some(&stages.approvals[0])).ends_with(4);
        stages.approvals.push(stages.scene.approved(&stages.run));
        stages.keep(Stage::AfterLifecycleApproval);
        stages
    }

    fn server(&self, sql: &str) {
        self.scene.place.superuser_in("postgres", sql);
    }

    fn runs(&self) -> PathBuf {
        self.scene.place.path().join("runs")
    }

    fn kept(&self, stage: Stage) -> PathBuf {
        self.scene.place.path().join(format!("kept-{stage:?}"))
    }

    fn keep(&self, stage: Stage) {
        let name = format!("{stage:?}").to_lowercase();
        self.server(&format!("create database {name} template chancery"));
        copy(&self.runs(), &self.kept(stage));
    }

    fn restore(&self, stage: Stage) {
        let name = format!("{stage:?}").to_lowercase();
        self.server("drop database chancery with (force)");
        self.server(&format!("create database chancery template {name}"));
        if self.runs().exists() {
            fs::remove_dir_all(self.runs()).expect("the runs go");
        }
        copy(&self.kept(stage), &self.runs());
    }

    /// The command of a stage.
    fn arguments(&self, stage: Stage) -> Vec<&str> {
        let resume = |approval| {
            vec![
                "cutter",
                "orchestrate",
                "resume",
                "--run-id",
                &self.run,
                "--approval-kb-id",
                approval,
                "--as",
                "executor",
            ]
        };
        match stage {
            Stage::Start => vec!["cutter", "orchestrate", "start", "law", "--as", "executor"],
            Stage::AfterCutApproval => resume(self.approvals[0].as_str()),
            Stage::AfterLifecycleApproval => resume(self.approvals[1].as_str()),
        }
    }

    fn traced(&self, stage: Stage, options: &[&str]) -> Command {
        let plain = self.scene.place.command(&self.arguments(stage));
        let mut command = Command::new("strace");
        command.args(["-o", self.trace().to_str().expect("a plain path")]).args(options);
        command.arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null());
        command
    }

    fn trace(&self) -> PathBuf {
        self.scene.place.path().join("trace")
    }

    /// How often the undisturbed command makes each call.
    fn count(&self, stage: Stage) -> Vec<(&'static str, usize)> {
        let said = run_it(&mut self.traced(stage, &["-e", &format!("trace={}", CALLS.join(","))]));
        let exit = if stage == Stage::AfterLifecycleApproval { 0 } else { 4 };
        assert_eq!(said.exit, Some(exit), "{said:?}");
        let trace = fs::read_to_string(self.trace()).expect("a trace");
        CALLS
            .map(|call| {
                let times =
                    trace.lines().filter(|line| line.starts_with(&format!("{call}("))).count();
                assert!(times > 0, "{stage:?} makes no {call}");
                (call, times)
            })
            .to_vec()
    }

    /// Whether the command was still at work: how often it asks the server again varies a little, so that the very last instants may
    /// lie behind its end.
    fn kill(&self, stage: Stage, call: &str, n: usize) -> bool {
        let inject = format!("inject={call}:signal=SIGKILL:when={n}");
        let said =
            run_it(&mut self.traced(stage, &["-e", &format!("trace={call}"), "-e", &inject]));
        assert!(matches!(said.exit, None | Some(0 | 4)), "{stage:?} {call} {n}: {said:?}");
        said.exit.is_none()
    }

    /// Goes on until the run is over, as a person would: start what was never begun, resume what was, approve what is asked.
    fn finish(&self) -> String {
        let runs = self.scene.orchestrate(&["list", "--json"]).ends_with(0).json();
        let known =
            runs[0]["run_id"].as_str().map(str::to_owned).or_else(|| self.only_in_a_folder());
        let run = match known {
            Some(run) => run,
            None => self.scene.started("law"),
        };
        self.scene.resume(&run, None);
        for _ in 0..3 {
            match self.scene.state(&run).as_str() {
                "closeout_reported" => return self.end(&run),
                "awaiting_cut_authorization" | "awaiting_lifecycle_authorization" => {
                    let approval = self.scene.approved(&run);
                    self.scene.resume(&run, Some(&approval));
                }
                other => panic!("the run is {other}"),
            }
        }
        panic!("the run does not end: {}", self.scene.state(&run));
    }

    /// A run that was begun in its file and not yet in the database.
    fn only_in_a_folder(&self) -> Option<String> {
        let folders = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        folders
            .filter(|folder| folder.path().join("state.json").exists())
            .map(|folder| folder.file_name().to_string_lossy().into_owned())
            .next()
    }

    fn undisturbed(&self) -> String {
        self.restore(Stage::Start);
        self.finish()
    }

    /// Everything that must be the same however often the runner died: digests, texts, states, and how many rows there are of what.
    fn end(&self, run: &str) -> String {
        let sidecar = self.scene.sidecar(run);
        let phases: Vec<&str> = sidecar["phases"]
            .as_object()
            .expect("phases")
            .values()
            .map(|phase| phase["result"].as_str().expect("a result"))
            .collect();
        let pins = &sidecar["context_pins"];
        let rows = self.scene.one(
            "select string_agg(format('%s.%s %s', n.nspname, c.relname,
                      (xpath('//n/text()', query_to_xml(format('select count(*) as n from %I.%I', n.nspname, c.relname), false, true, '')))[1]), E'\\n'
                      order by n.nspname, c.relname)
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where c.relkind = 'r' and n.nspowner = 'chancery_owner'::regrole and c.relname not in ('sequencer_cursor', 'event_sequenced', 'event_position')",
        );
        let units = self.scene.one(
            "select string_agg(concat_ws(' ', u.canonical_address, u.lifecycle_status, v.lifecycle_status, v.version_seq, v.content_hash), E'\\n' order by u.sort_order)
               from iu.information_unit u join iu.unit_version v on v.unit_id = u.id",
        );
        assert_eq!(units.lines().count(), UNITS);
        let log = self.scene.one("select string_agg(to_state, ' ' order by seq) from fsm.transition_log where run_kind = 'orchestrator_run'");
        let index = self
            .scene
            .one("select body from kb.revision where path like 'orchestrator/runs-index/%'");
        assert_eq!(index.matches(run).count(), 1);
        format!(
            "{} {} {} {} {phases:?}\n{log}\n{units}\n{rows}",
            sidecar["state"], pins["writer_digest"], pins["manifest_digest"], pins["region_sha"]
        )
    }
}

/// All of them, or so many, spread over all by a seed.
fn slice_of<T: Clone>(all: &[T]) -> Vec<T> {
    let wanted = slice::asked("CHANCERY_TEST_INSTANTS");
    if wanted.as_deref() == Some("all") {
        return all.to_vec();
    }
    let some = slice::amount("CHANCERY_TEST_INSTANTS", SLICE);
    let step = (all.len() / some).max(1);
    let first = usize::try_from(slice::seed(20_261_115)).unwrap_or_default() % step;
    all.iter().skip(first).step_by(step).cloned().collect()
}

fn copy(from: &Path, to: &Path) {
    if !from.exists() {
        return;
    }
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file");
        }
    }
}
