//! `cutter orchestrate batch`: each run in a process of its own.

use std::path::PathBuf;

use chancery_engine::orchestrator::batch::{BatchLock, Queue, Roster};
use chancery_engine::orchestrator::{RunId, approval_path, asked};
use chancery_store::orchestrator::RunRow;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;

use super::aides::Own;
use crate::Context;
use crate::cutter::{Desk, Duty};
use crate::failure::{Failure, Outcome};
use crate::output::table;

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// The queue
    #[arg(long, value_name = "FILE")]
    queue: PathBuf,
    /// How many runs are planned at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    max_concurrent: u8,
    /// Leave the rest when one fails
    #[arg(long)]
    stop_on_first_failure: bool,
    /// Go on with a batch; repeating the command does so anyway
    #[arg(long)]
    resume: bool,
}

/// Where a document of the batch stands.
#[derive(Debug, Clone, Serialize)]
struct Line {
    document_id: String,
    run_id: String,
    state: String,
    /// What it waits for, or why it does not go on.
    note: String,
    #[serde(skip)]
    failed: bool,
}

pub(super) async fn batch(context: &mut Context, args: &Batch) -> Result<Outcome, Failure> {
    let queue = Queue::read(&args.queue)?;
    let desk = Desk::open(context, Duty::Cut).await?;
    // Until the command ends: the runs of the batch are taken on by one command at a time.
    let lock = BatchLock::acquire(&context.config.runs_dir(), &queue)?;
    let roster = Roster::of(&context.config.runs_dir(), &queue, &lock)?;
    let own = Own::of(context, &desk.actor.principal)?;
    let mut failures: Vec<(String, String)> = Vec::new();

    // Planning writes nothing but the run's own request, so it may go side by side.
    let mut waiting = Vec::new();
    for (document, run_id) in &roster.runs {
        let run = desk.store.orchestrator_run(&run_id.to_string()).await?;
        if run.is_none_or(|run| is_before_the_first_gate(&run)) {
            waiting.push((document.clone(), *run_id));
        }
    }
    let total = waiting.len();
    let mut waiting = waiting.into_iter();
    let mut planning: JoinSet<(String, Result<(), String>)> = JoinSet::new();
    let mut planned = 0;
    loop {
        let stop = args.stop_on_first_failure && !failures.is_empty();
        while !stop && planning.len() < usize::from(args.max_concurrent) {
            let Some((document, run_id)) = waiting.next() else { break };
            let own = own.clone();
            let root = context.config.runs_dir();
            planning.spawn(async move {
                let begun = root.join(run_id.to_string()).join("state.json").exists();
                let said = if begun {
                    own.resume(run_id, None).await
                } else {
                    own.start(&document, run_id).await
                };
                (document, said)
            });
        }
        let Some(done) = planning.join_next().await else { break };
        let (document, said) =
            done.map_err(|error| Failure::Failed(format!("a run was lost: {error}")))?;
        planned += 1;
        context.out.note(&format!(
            "planned {planned} of {total}: {document}{}",
            said.as_ref().err().map_or("", |_| " failed")
        ));
        if let Err(why) = said {
            failures.push((document, why));
        }
    }

    // Writes go one after another: what is approved, in the order of the queue.
    for (document, run_id) in &roster.runs {
        if args.stop_on_first_failure && !failures.is_empty() {
            break;
        }
        if let Err(why) = write(context, &desk, &own, document, *run_id).await? {
            failures.push((document.clone(), why));
        }
    }
    desk.position_events().await;
    report(context, &desk, &roster, &failures).await
}

fn is_before_the_first_gate(run: &RunRow) -> bool {
    matches!(
        run.state.as_str(),
        "pending"
            | "source_pinned"
            | "marked"
            | "cutplan_ok"
            | "pre_write_backup_taken"
            | "grants_probed"
    )
}

/// Takes a run on as far as its approvals go.
async fn write(
    context: &Context,
    desk: &Desk,
    own: &Own,
    document: &str,
    run_id: RunId,
) -> Result<Result<(), String>, Failure> {
    for _ in 0..2 {
        let Some(run) = desk.store.orchestrator_run(&run_id.to_string()).await? else {
            return Ok(Ok(()));
        };
        if is_before_the_first_gate(&run) || is_over(&run) {
            return Ok(Ok(()));
        }
        let approval = match asked(&desk.store, &run).await {
            Ok((asked, question)) if question.approval.state == "approved" => {
                Some(approval_path(&run.run_name, &asked.gate, run.seq))
            }
            Ok(_) => return Ok(Ok(())),
            // Between two gates, or stopped: a resume says what there is to do.
            Err(stop)
                if stop.code == "STOP_NOTHING_ASKED" && !run.state.starts_with("stopped_") =>
            {
                None
            }
            Err(_) => return Ok(Ok(())),
        };
        context.out.note(&format!("{document}: on from {}", run.state));
        if let Err(why) = own.resume(run_id, approval.as_deref()).await {
            return Ok(Err(why));
        }
    }
    Ok(Ok(()))
}

fn is_over(run: &RunRow) -> bool {
    ["closeout", "failed_", "voided_"].iter().any(|over| run.state.starts_with(over))
}

async fn report(
    context: &mut Context,
    desk: &Desk,
    roster: &Roster,
    failures: &[(String, String)],
) -> Result<Outcome, Failure> {
    let mut lines = Vec::new();
    for (document, run_id) in &roster.runs {
        let run = desk.store.orchestrator_run(&run_id.to_string()).await?;
        let why =
            failures.iter().find(|(failed, _)| failed == document).map(|(_, why)| why.clone());
        let state = run.as_ref().map_or("not begun", |run| run.state.as_str()).to_owned();
        let note = match (&why, &run) {
            (Some(why), _) => why.lines().next().unwrap_or_default().to_owned(),
            (None, Some(run)) => match asked(&desk.store, run).await {
                Ok((asked, question)) => format!("{} is {}", asked.gate, question.approval.state),
                Err(_) => String::new(),
            },
            (None, None) => String::new(),
        };
        let failed = why.is_some() || state.starts_with("failed_");
        lines.push(Line {
            document_id: document.clone(),
            run_id: run_id.to_string(),
            state,
            note,
            failed,
        });
    }
    context.out.answer(&lines, || {
        let rows = lines.iter().map(|line| {
            vec![
                line.document_id.clone(),
                line.state.clone(),
                line.note.clone(),
                line.run_id.clone(),
            ]
        });
        table(&["document", "state", "note", "run"], rows)
    })?;
    let over = |line: &Line| line.state == "closeout_reported" || line.state.starts_with("voided_");
    Ok(if lines.iter().any(|line| line.failed) {
        Outcome::Failed
    } else if lines.iter().all(over) {
        Outcome::Done
    } else {
        Outcome::Paused
    })
}

impl Own {
    async fn start(&self, document: &str, run_id: RunId) -> Result<(), String> {
        self.orchestrate(&["start", document, "--run-id", &run_id.to_string()]).await
    }

    async fn resume(&self, run_id: RunId, approval: Option<&str>) -> Result<(), String> {
        let run_id = run_id.to_string();
        let mut args = vec!["resume", "--run-id", &run_id];
        args.extend(approval.into_iter().flat_map(|path| ["--approval-kb-id", path]));
        self.orchestrate(&args).await
    }

    /// Whether it went on as far as it could: it is done, or it waits.
    async fn orchestrate(&self, args: &[&str]) -> Result<(), String> {
        let said = self.run(args).await.map_err(|error| error.to_string())?;
        if matches!(said.exit, Some(0 | 4)) {
            return Ok(());
        }
        let stopped = &said.answer["stopped"];
        Err(match (stopped["code"].as_str(), stopped["reason"].as_str()) {
            (Some(code), Some(reason)) => format!("{code}: {reason}"),
            _ if said.answer != Value::Null => said.answer.to_string(),
            _ => said.complaint,
        })
    }
}
