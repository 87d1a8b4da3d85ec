//! The executor class `cutter`: a step that is a run of the orchestrator, and that waits where the run waits.
//!
//! Each phase of a run is done in a process of its own, with the executor's login and key. The step finds its run again by what it
//! waited for, or by the document: of a document there is one run that is not over.

use chancery_engine::orchestrator::{RunId, approval_path, asked};
use chancery_engine::queue::{Answer, Executor, Failure as Failed, Outcome, Task, Trouble, Work};
use chancery_store::Store;
use chancery_store::orchestrator::RunRow;
use chancery_store::queue::LeasedJob;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Context;
use crate::cutter::{Desk, Duty};
use crate::failure::Failure;
use crate::orchestrate::Own;

/// What a run waits at, in the words of approvals.
const SUBJECT: &str = "orchestrator_run";

/// Stops that are about the world around a run: it can go on by itself when that is mended.
const PASSING: [&str; 9] = [
    "STOP_BACKUP_CUT_SHORT",
    "STOP_BACKUP_LOST",
    "STOP_DATABASE_AWAY",
    "STOP_DISK_FULL",
    "STOP_KEY",
    "STOP_REPLAY_CONFLICT",
    "STOP_RUN_BUSY",
    "STOP_SIDECAR_IO",
    "STOP_VERIFIER",
];

#[derive(Debug)]
pub(super) struct Cutter {
    store: Store,
    own: Own,
    verifier: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    document: String,
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    unit_kind: Option<String>,
    #[serde(default)]
    publication_type: Option<String>,
}

impl Cutter {
    pub(super) async fn open(context: &Context, verifier: Option<&str>) -> Result<Self, Failure> {
        // Says at the start what would stop every step: no executor, no login, no key.
        let desk = Desk::open(context, Duty::Cut).await?;
        if desk.actor.key.is_none() {
            let name = &desk.actor.principal;
            return Err(Failure::Usage(format!(
                "{name} has no key here; make one with `chancery key new {name}`"
            )));
        }
        let own = Own::of(context, &desk.actor.principal)?;
        Ok(Self { store: desk.store, own, verifier: verifier.map(str::to_owned) })
    }

    async fn step(&self, task: &Task) -> Result<Outcome, Trouble> {
        let wanted: Wanted = serde_json::from_value(task.with().clone())
            .map_err(|error| Trouble::bad_request(format!("`with` is no cut: {error}")))?;
        let Some(run) = self.run_of(task, &wanted).await? else {
            let run_id = RunId::new(jiff::Timestamp::now()).to_string();
            let mut args = vec!["start", &wanted.document, "--run-id", &run_id];
            for (option, value) in [
                ("--profile", &wanted.profile),
                ("--unit-kind", &wanted.unit_kind),
                ("--publication-type", &wanted.publication_type),
            ] {
                args.extend(value.iter().flat_map(|value| [option, value]));
            }
            return self.drive(args).await;
        };
        if run.document_id != wanted.document {
            let why = format!("{} is a run of {}", run.run_name, run.document_id);
            return Err(Trouble::bad_request(why));
        }
        if run.state == "closeout_reported" {
            return self.done(&run).await;
        }
        if ["failed_", "stopped_", "voided_"].iter().any(|over| run.state.starts_with(over)) {
            return Err(Trouble::rejected(self.reason(&run).await?));
        }
        let mut args = vec!["resume", "--run-id", &run.run_name];
        let approval = match asked(&self.store, &run).await {
            Ok((asked, question)) => match question.approval.state.as_str() {
                "approved" => Some(approval_path(&run.run_name, &asked.gate, run.seq)),
                "rejected" => {
                    let why = format!("the sovereign rejected {} of {}", asked.gate, run.run_name);
                    return Err(Trouble::rejected(why));
                }
                _ => return Ok(waits_at(&run.run_name)),
            },
            // Between two gates, or what was asked has expired: the run asks again.
            Err(stop) if stop.code == "STOP_NOTHING_ASKED" => None,
            Err(stop) => return Err(Trouble::unavailable(stop.to_string())),
        };
        args.extend(approval.iter().flat_map(|path| ["--approval-kb-id", path]));
        self.drive(args).await
    }

    /// The run of this step: the one that it waited for, or the one of its document that is not over.
    async fn run_of(&self, task: &Task, wanted: &Wanted) -> Result<Option<RunRow>, Trouble> {
        if let Some(name) = task.waited_for(SUBJECT).last() {
            return self.store.orchestrator_run(name).await.map_err(|error| away(&error));
        }
        let open = self.store.orchestrator_runs(Some(&wanted.document), true, 1).await;
        Ok(open.map_err(|error| away(&error))?.into_iter().next())
    }

    /// Takes a run as far as it goes by itself.
    async fn drive(&self, mut args: Vec<&str>) -> Result<Outcome, Trouble> {
        args.extend(self.verifier.iter().flat_map(|name| ["--verifier", name]));
        let said = self.own.run(&args).await.map_err(|error| {
            Trouble::unavailable(format!("the run could not be started: {error}"))
        })?;
        let run_name = said.answer["run_id"].as_str().unwrap_or_default();
        match said.exit {
            Some(4) if !run_name.is_empty() => return Ok(waits_at(run_name)),
            Some(0) => {
                let run =
                    self.store.orchestrator_run(run_name).await.map_err(|error| away(&error))?;
                let run = run.ok_or_else(|| Trouble::unavailable("the run is not there"))?;
                return self.done(&run).await;
            }
            _ => {}
        }
        let stopped = &said.answer["stopped"];
        let why = match (stopped["code"].as_str(), stopped["reason"].as_str()) {
            (Some(code), Some(reason)) => format!("{code}: {reason}"),
            _ if said.answer != Value::Null => said.answer.to_string(),
            _ => said.complaint,
        };
        Err(match stopped["code"].as_str() {
            Some(code) if PASSING.contains(&code) => Trouble::unavailable(why),
            Some("STOP_DOCUMENT_UNKNOWN" | "STOP_REFUSED_INPUT") => Trouble::bad_request(why),
            Some(_) => Trouble::rejected(why),
            // The process did not get far enough to say what is wrong with the run.
            None => Trouble::unclassified(why),
        })
    }

    async fn done(&self, run: &RunRow) -> Result<Outcome, Trouble> {
        let moves =
            self.store.orchestrator_moves(run.run_id).await.map_err(|error| away(&error))?;
        let planned = moves.iter().rev().find_map(|one| one.evidence["planned_rows"].as_u64());
        Ok(Outcome::Done(json!({
            "run_id": run.run_name, "document_id": run.document_id, "units": planned.unwrap_or_default(),
        })))
    }

    async fn reason(&self, run: &RunRow) -> Result<String, Trouble> {
        let moves =
            self.store.orchestrator_moves(run.run_id).await.map_err(|error| away(&error))?;
        let why = moves.last().and_then(|last| last.reason.clone()).unwrap_or_default();
        Ok(format!("{} is {}: {why}", run.run_name, run.state))
    }
}

/// The step goes on when the sovereign has answered.
fn waits_at(run_name: &str) -> Outcome {
    Outcome::Waiting(vec![
        json!({ "facet": "waiting_human", "subject_kind": SUBJECT, "of": run_name }),
    ])
}

fn away(error: &chancery_store::Error) -> Trouble {
    Trouble::unavailable(format!("the run could not be looked at: {error}"))
}

impl Executor for Cutter {
    fn execute<'a>(&'a self, _: &'a LeasedJob) -> Answer<'a> {
        Box::pin(async { Err(Failed::for_good("only a step of a workflow is cut here")) })
    }

    fn work<'a>(&'a self, task: &'a Task) -> Work<'a> {
        Box::pin(self.step(task))
    }
}
