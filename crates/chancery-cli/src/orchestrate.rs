//! `cutter orchestrate …`: one document from `pending` to `closeout_reported`.

mod aides;
mod batch;
mod look;
mod progress;
mod watch;

pub(crate) use aides::Own;
pub(crate) use progress::colour_is_welcome;

use std::path::{Path, PathBuf};

use chancery_document::Profile;
use chancery_engine::orchestrator::{
    self as engine, Choice, Ended, Rehearsal, RunId, Runner, Stop,
};
use chancery_store::Role;
use chancery_store::orchestrator::RunRow;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use self::aides::Processes;
use self::watch::Display;
use crate::Context;
use crate::cutter::{Desk, Duty};
use crate::doc::profile;
use crate::failure::{Failure, Outcome};
use crate::session::Session;

pub(crate) const EXAMPLES: &str = "\
A run goes through fourteen states. Twice it stops and asks a sovereign; only a signed approval of exactly what is asked takes it \
on. A run can be killed at any moment: `resume` goes on where the database says it stands.

Example:
  $ chancery cutter orchestrate backup-key backup.asc
  $ chancery cutter orchestrate start records-policy --as executor
  $ chancery cutter orchestrate approve --run-id ictr-… --as sofia
  $ chancery cutter orchestrate resume --run-id ictr-… --approval-kb-id orchestrator/ictr-…/sg1-cut-authz-approval --as executor
  $ chancery cutter orchestrate status --run-id ictr-…";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Begin a run of a document and take it to its first sovereign gate
    #[command(after_help = "\
Ends with exit code 4 when it waits for the sovereign.

Example:
  $ chancery cutter orchestrate start records-policy --as executor
  $ chancery cutter orchestrate start records-policy --mode dryrun --as executor")]
    Start(Start),
    /// Go on with a run, after a pause, a stop or a crash
    #[command(after_help = "\
Repeating it changes nothing: a run that is over, or waits, is left as it is.

Example:
  $ chancery cutter orchestrate resume --run-id ictr-… --as executor
  $ chancery cutter orchestrate resume --run-id ictr-… --approval-kb-id orchestrator/ictr-…/sg1-cut-authz-approval --as executor")]
    Resume(Resume),
    /// Look at what a run asks of the sovereign, and sign it
    #[command(after_help = "\
The document, the vote and the decision are written in one transaction, signed with the sovereign's own key.

Example:
  $ chancery cutter orchestrate approve --run-id ictr-… --show
  $ chancery cutter orchestrate approve --run-id ictr-… --rationale 'read in full' --as sofia")]
    Approve(Approve),
    /// Show where a run stands, gate by gate
    #[command(after_help = "Example:\n  $ chancery cutter orchestrate status --run-id ictr-…")]
    Status(Named),
    /// List runs, newest first
    #[command(after_help = "Example:\n  $ chancery cutter orchestrate list --open")]
    List(List),
    /// Stop a run; it goes on only with a sovereign's approval
    #[command(
        after_help = "Example:\n  $ chancery cutter orchestrate stop --run-id ictr-… --reason 'the annex is wrong' --as sofia"
    )]
    Stop(Reasoned),
    /// Void a run by a signed document: its request is given up, its drafts are taken back
    #[command(
        after_help = "Example:\n  $ chancery cutter orchestrate void --run-id ictr-… --reason 'withdrawn' --as sofia"
    )]
    Void(Reasoned),
    /// Remove a dry run and its files; a live run is refused
    #[command(after_help = "Example:\n  $ chancery cutter orchestrate remove --run-id ictr-…")]
    Remove(Named),
    /// Take many documents through their runs: planning in parallel, writes one after another
    #[command(after_help = "\
Each document has its own run and its own approvals. Repeat the command after approving: it goes on with what was approved and \
leaves the rest. The queue is a YAML file:

  schema_version: 1
  batch_id: 01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd
  items:
    - document_id: records-policy
    - document_id: travel-policy

Example:
  $ chancery cutter orchestrate batch --queue queue.yaml --as executor
  $ chancery cutter orchestrate batch --queue queue.yaml --max-concurrent 2 --stop-on-first-failure --as executor")]
    Batch(batch::Batch),
    /// Pin the public OpenPGP key that backups are encrypted to
    #[command(after_help = "\
Only the public key comes here, as `gpg --armor --export NAME` writes it; the secret one stays with whoever restores.

Example:
  $ chancery cutter orchestrate backup-key backup.asc")]
    BackupKey {
        /// The file that `gpg --armor --export` wrote
        file: PathBuf,
    },
    /// Take the backup of a run (the runner starts this with the login of the backup)
    #[command(hide = true)]
    TakeBackup(TakeBackup),
    /// Verify what a run wrote (the runner starts this with the login of the verifier)
    #[command(hide = true)]
    WriteVerify(Named),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Go through everything, stop at the same gates, write nothing to the database
    Dryrun,
    /// Do it
    Live,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The document
    #[arg(value_name = "DOC")]
    document: String,
    /// Whether to write
    #[arg(long, value_enum, default_value_t = Mode::Live)]
    mode: Mode,
    /// The run's id [default: made from the time]
    #[arg(long, value_name = "RUN")]
    run_id: Option<RunId>,
    /// How it is divided [default: what its text looks like]
    #[arg(long, value_parser = profile())]
    profile: Option<Profile>,
    /// What its units are [default: law_unit for legal profiles, design_doc_section for markdown]
    #[arg(long, value_name = "KIND")]
    unit_kind: Option<String>,
    /// What it is published as [default: law for legal profiles, document for markdown]
    #[arg(long, value_name = "TYPE")]
    publication_type: Option<String>,
    #[command(flatten)]
    aides: AideArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AideArgs {
    /// Who verifies what is written [default: the only verifier there is]
    #[arg(long, value_name = "NAME")]
    verifier: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    named: Named,
    /// The document with which the sovereign approved
    #[arg(long, value_name = "PATH")]
    approval_kb_id: Option<String>,
    /// Make the sidecar anew from the database, when it is lost or broken
    #[arg(long)]
    rebuild_sidecar: bool,
    #[command(flatten)]
    aides: AideArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    named: Named,
    /// Only show what is asked; changes nothing
    #[arg(long)]
    show: bool,
    /// Why, in words; a part of what is signed
    #[arg(long, value_name = "TEXT", conflicts_with = "show")]
    rationale: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The run
    #[arg(long, value_name = "RUN")]
    run_id: RunId,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only runs of this document
    #[arg(long, value_name = "DOC")]
    document: Option<String>,
    /// Only runs that are not over
    #[arg(long)]
    open: bool,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Reasoned {
    #[command(flatten)]
    named: Named,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct TakeBackup {
    #[command(flatten)]
    named: Named,
    /// The file to make
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Start(args) => start(context, args).await,
        Command::Resume(args) => resume(context, args).await,
        Command::Approve(args) => approve(context, args).await,
        Command::Status(args) => status(context, &args).await,
        Command::List(args) => list(context, &args).await,
        Command::Stop(args) => stop(context, &args).await,
        Command::Void(args) => void(context, &args).await,
        Command::Remove(args) => remove(context, &args).await,
        Command::Batch(args) => batch::batch(context, &args).await,
        Command::BackupKey { file } => aides::pin_key(context, &file).await,
        Command::TakeBackup(args) => aides::take_backup(context, &args.file).await,
        Command::WriteVerify(args) => write_verify(context, &args).await,
    }
}

async fn start(context: &mut Context, args: Start) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::Cut).await?;
    let run_id = args.run_id.unwrap_or_else(|| RunId::new(jiff::Timestamp::now()));
    let choice = Choice {
        profile: args.profile,
        unit_kind: args.unit_kind,
        publication_type: args.publication_type,
    };
    let processes = Processes::of(context, &desk.store, args.aides.verifier.as_deref()).await?;
    context.out.note(&format!("run {run_id}"));
    let mut display = Display::new(context.config.colour, context.config.dumb_terminal);
    let root = context.config.runs_dir();
    let ended = if args.mode == Mode::Dryrun {
        let mut rehearsal = Rehearsal {
            target: &desk.session.target,
            store: &desk.store,
            actor: &desk.actor,
            aides: &processes,
            watch: &mut display,
            root: &root,
        };
        rehearsal.start(run_id, &args.document, &choice).await
    } else {
        let mut runner = Runner {
            store: &desk.store,
            actor: &desk.actor,
            aides: &processes,
            watch: &mut display,
            root: &root,
        };
        let ended = runner.start(run_id, &args.document, &choice).await;
        desk.position_events().await;
        ended
    };
    told(context, ended)
}

async fn resume(context: &mut Context, args: Resume) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::Cut).await?;
    let processes = Processes::of(context, &desk.store, args.aides.verifier.as_deref()).await?;
    let mut display = Display::new(context.config.colour, context.config.dumb_terminal);
    let root = context.config.runs_dir();
    let approval = args.approval_kb_id.as_deref();
    let run_id = args.named.run_id;
    let ended = if is_rehearsal(&root, run_id) {
        let mut rehearsal = Rehearsal {
            target: &desk.session.target,
            store: &desk.store,
            actor: &desk.actor,
            aides: &processes,
            watch: &mut display,
            root: &root,
        };
        rehearsal.resume(run_id, approval).await
    } else {
        let mut runner = Runner {
            store: &desk.store,
            actor: &desk.actor,
            aides: &processes,
            watch: &mut display,
            root: &root,
        };
        let ended = runner.resume(run_id, approval, args.rebuild_sidecar).await;
        desk.position_events().await;
        ended
    };
    told(context, ended)
}

/// The state is what a script wants; what to do next is for people.
fn told(context: &mut Context, ended: Result<Ended, Stop>) -> Result<Outcome, Failure> {
    let ended = ended?;
    if !context.out.is_json() {
        context.out.note(&look::next(&ended));
    }
    let (state, outcome) = match &ended {
        Ended::ClosedOut { state, .. } => (state.clone(), Outcome::Done),
        Ended::Paused { state, .. } => (state.clone(), Outcome::Paused),
    };
    context.out.answer(&ended, || state)?;
    Ok(outcome)
}

/// A dry run is known by its file alone.
fn is_rehearsal(root: &Path, run_id: RunId) -> bool {
    engine::sidecar::read(root, run_id).is_ok_and(|run| run.mode == engine::sidecar::Mode::Dryrun)
}

async fn approve_rehearsal(
    context: &mut Context,
    args: &Approve,
    root: &Path,
) -> Result<Outcome, Failure> {
    if args.show {
        let asked = engine::rehearsal_asks(root, args.named.run_id)?;
        context.out.answer(&asked, || look::asked(&asked))?;
        return Ok(Outcome::Done);
    }
    let desk = Desk::open(context, Duty::Review).await?;
    let approved =
        engine::approve_rehearsal(root, args.named.run_id, &desk.actor, args.rationale.as_deref())?;
    told_approved(context, &approved)
}

async fn approve(context: &mut Context, args: Approve) -> Result<Outcome, Failure> {
    let root = context.config.runs_dir();
    if is_rehearsal(&root, args.named.run_id) {
        return approve_rehearsal(context, &args, &root).await;
    }
    if args.show {
        let store = Session::open(context).await?.store(Role::App).await?;
        let run = find(&store, args.named.run_id).await?;
        let (asked, _) = engine::asked(&store, &run).await?;
        context.out.answer(&asked, || look::asked(&asked))?;
        return Ok(Outcome::Done);
    }
    let desk = Desk::open(context, Duty::Review).await?;
    let run = find(&desk.store, args.named.run_id).await?;
    let rationale = args.rationale.as_deref();
    let approved =
        engine::approve(&desk.session.target, &desk.store, &desk.actor, &run, rationale).await?;
    desk.position_events().await;
    told_approved(context, &approved)
}

fn told_approved(context: &mut Context, approved: &engine::Approved) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        context.out.note(&format!(
            "approved {} ({}); go on with\n  cutter orchestrate resume --run-id {} --approval-kb-id {}",
            approved.gate, approved.state, approved.run_id, approved.approval_kb_id
        ));
    }
    context.out.answer(approved, || approved.approval_kb_id.clone())?;
    Ok(Outcome::Done)
}

async fn status(context: &mut Context, args: &Named) -> Result<Outcome, Failure> {
    let root = context.config.runs_dir();
    if is_rehearsal(&root, args.run_id) {
        let run = engine::sidecar::read(&root, args.run_id).map_err(Stop::from)?;
        context.out.answer(&run, || look::rehearsal(&run))?;
        return Ok(Outcome::Done);
    }
    let store = Session::open(context).await?.store(Role::App).await?;
    let run = find(&store, args.run_id).await?;
    let moves = store.orchestrator_moves(run.run_id).await?;
    let sidecar = engine::sidecar::read(&context.config.runs_dir(), args.run_id);
    let sidecar = match &sidecar {
        Ok(sidecar) => json!({ "state": sidecar.state, "elapsed_ms": sidecar.elapsed_ms }),
        Err(error) => json!({ "stop": error.stop_code() }),
    };
    let answer = json!({ "run": run, "moves": moves, "sidecar": sidecar });
    context.out.answer(&answer, || look::status(&run, &moves, &sidecar))?;
    Ok(Outcome::Done)
}

async fn list(context: &mut Context, args: &List) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let mut runs: Vec<look::Line> = store
        .orchestrator_runs(args.document.as_deref(), args.open, args.limit)
        .await?
        .iter()
        .map(look::Line::live)
        .collect();
    // The database knows nothing of rehearsals.
    let root = context.config.runs_dir();
    for run_id in engine::sidecar::list(&root).map_err(Stop::from)? {
        let Ok(run) = engine::sidecar::read(&root, run_id) else { continue };
        let wanted = args.document.as_deref().is_none_or(|document| document == run.document_id)
            && (!args.open
                || run.state != "closeout_reported" && !run.state.starts_with("voided_"));
        if run.mode == engine::sidecar::Mode::Dryrun && wanted {
            runs.push(look::Line::rehearsal(&run));
        }
    }
    runs.sort_by(|a, b| b.run_id.cmp(&a.run_id));
    runs.truncate(usize::try_from(args.limit).unwrap_or(usize::MAX));
    if runs.is_empty() {
        context.out.note("there are no such runs; begin one with `cutter orchestrate start DOC`");
    }
    context.out.answer(&runs, || look::list(&runs))?;
    Ok(Outcome::Done)
}

async fn stop(context: &mut Context, args: &Reasoned) -> Result<Outcome, Failure> {
    let root = context.config.runs_dir();
    if is_rehearsal(&root, args.named.run_id) {
        let state = engine::stop_rehearsal(&root, args.named.run_id, &args.reason)?;
        return print_halted(context, &root, args, state);
    }
    let desk = Desk::open(context, Duty::Abandon).await?;
    let run = find(&desk.store, args.named.run_id).await?;
    let sidecar = engine::sidecar::read(&context.config.runs_dir(), args.named.run_id).ok();
    engine::stop(&desk.store, &desk.actor, &run, sidecar.as_ref(), &args.reason, None).await?;
    desk.position_events().await;
    refresh_sidecar(context, &desk, args.named.run_id).await;
    let run = find(&desk.store, args.named.run_id).await?;
    context.out.answer(&run, || run.state.clone())?;
    Ok(Outcome::Done)
}

async fn void(context: &mut Context, args: &Reasoned) -> Result<Outcome, Failure> {
    let root = context.config.runs_dir();
    if is_rehearsal(&root, args.named.run_id) {
        let state = engine::void_rehearsal(&root, args.named.run_id, &args.reason)?;
        return print_halted(context, &root, args, state);
    }
    let desk = Desk::open(context, Duty::Review).await?;
    let run = find(&desk.store, args.named.run_id).await?;
    let report = engine::void(&desk.session.target, &desk.actor, &run, &args.reason).await?;
    desk.position_events().await;
    refresh_sidecar(context, &desk, args.named.run_id).await;
    context.out.answer(&report, || report.state.clone())?;
    Ok(Outcome::Done)
}

/// The run is moved already; what is wrong with a file beside it is said and undoes nothing.
async fn refresh_sidecar(context: &mut Context, desk: &Desk, run_id: RunId) {
    let root = context.config.runs_dir();
    if let Err(stop) = engine::refresh_sidecar(&desk.store, &root, run_id).await {
        context.out.note(&format!("the run's own file still says what it said: {stop}"));
    }
}

async fn remove(context: &mut Context, args: &Named) -> Result<Outcome, Failure> {
    engine::remove_rehearsal(&context.config.runs_dir(), args.run_id)?;
    let run_id = args.run_id.to_string();
    context.out.answer(&json!({ "run_id": run_id, "removed": true }), || run_id.clone())?;
    Ok(Outcome::Done)
}

/// A rehearsal is files of whoever began it, so that no signature is asked for.
fn print_halted(
    context: &mut Context,
    root: &Path,
    args: &Reasoned,
    state: String,
) -> Result<Outcome, Failure> {
    let run = engine::sidecar::read(root, args.named.run_id).map_err(Stop::from)?;
    context.out.answer(&run, || state)?;
    Ok(Outcome::Done)
}

async fn write_verify(context: &mut Context, args: &Named) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::Verify).await?;
    let run = find(&desk.store, args.run_id).await?;
    let report = engine::write_verify(&desk.store, &desk.actor, &run).await?;
    context.out.answer(&report, || report.state.clone())?;
    Ok(if report.state.starts_with("failed_") { Outcome::Failed } else { Outcome::Done })
}

async fn find(store: &chancery_store::Store, run_id: RunId) -> Result<RunRow, Failure> {
    let name = run_id.to_string();
    store.orchestrator_run(&name).await?.ok_or_else(|| {
        Stop::new(
            "STOP_RUN_NOT_FOUND",
            format!("the database knows no run {name}"),
            "see `cutter orchestrate list`",
        )
        .into()
    })
}
