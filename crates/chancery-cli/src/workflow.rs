//! `chancery workflow …`: definitions by proposal, and their runs.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chancery_engine::Error;
use chancery_engine::approval::{Decision, VOTING_CLASSES};
use chancery_engine::workflow::{self as engine, Asked, Kind, RunMove, Start, Submitted, Written};
use chancery_store::Role;
use chancery_store::workflow::{ChangeReport, Listing, Proposed, RunReport};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::acting::Acting;
use crate::approval::duration;
use crate::failure::{Failure, Outcome};
use crate::saying::{Saying, position_events, reader, speaker};
use crate::{Context, document};

mod diff;
mod follow;
mod look;

pub(crate) use look::{note_of, pic, work_row};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a definition as a draft, or the next revision of one; prints the change's id
    #[command(after_help = "\
A definition is YAML or JSON. What is wrong with it is said at once, with its place; nothing can be started before it is merged. \
Without --id it goes to your open draft of the same workflow, or becomes a new one. Repeated, it is the same.

Example:
  $ chancery workflow propose examples/workflows/contract_review.yaml --as alice
  $ chancery workflow propose - --title 'A shorter deadline' --as alice < contract_review.yaml")]
    Propose(Propose),
    /// Hand a draft in and ask others to approve it; prints where it stands
    #[command(after_help = "Example:\n  $ chancery workflow submit 0197… --as alice")]
    Submit(Submit),
    /// Vote for a change, signed; prints where it stands
    #[command(after_help = "\
Who proposed it does not vote.

Example:
  $ chancery workflow approve 0197… --reason 'read in full' --as carol")]
    Approve(Vote),
    /// Vote against a change, signed; prints where it stands
    #[command(
        after_help = "Example:\n  $ chancery workflow reject 0197… --reason 'the legal step is missing' --as carol"
    )]
    Reject(Vote),
    /// Take a change back before others were asked about it; a draft is given up for good
    #[command(after_help = "\
What was submitted becomes a draft again, which can be rewritten and submitted. A draft that is withdrawn stays so. \
The same command again is the same withdrawal: to give a draft up that was taken back before, say why with --reason.

Example:
  $ chancery workflow withdraw 0197… --as alice
  $ chancery workflow withdraw 0197… --reason 'no longer needed' --as alice")]
    Withdraw(Change),
    /// Make an approved change the newest version; prints the version
    #[command(after_help = "\
New runs use it from now on; runs that began stay on theirs. When somebody else's merge came first it is refused (RW004): \
propose it anew on top of that one.

Example:
  $ chancery workflow merge 0197… --as alice")]
    Merge(Change),
    /// What a change changes: steps and relations, field by field
    #[command(after_help = "Example:\n  $ chancery workflow diff 0197…")]
    Diff {
        /// The change
        change: Uuid,
    },
    /// List changes, newest first
    #[command(after_help = "Example:\n  $ chancery workflow changes --state review")]
    Changes(look::Changes),
    /// List workflows that can be started
    #[command(after_help = "Example:\n  $ chancery workflow list")]
    List,
    /// Show a workflow: its steps, who does them, and what comes after what
    #[command(
        after_help = "Example:\n  $ chancery workflow show contract_review\n  $ chancery workflow show contract_review --version 1 --json"
    )]
    Show {
        /// The workflow
        name: String,
        /// Which version [default: the newest]
        #[arg(long, value_name = "N")]
        version: Option<i32>,
    },
    /// Where the steps of a workflow, a run or a change stand on a picture, as JSON
    #[command(after_help = "\
A change is laid out together with the version it was written against, each step marked as added, removed or kept.

Example:
  $ chancery workflow graph contract_review
  $ chancery workflow graph 0197… --window 1920x1080 --collapse intake")]
    Graph(look::Graph),
    /// Start a run; prints its id
    #[command(after_help = "\
With --id or --key a repeated command is the same run. A host (`chancery serve`) drives it.

Example:
  $ chancery workflow start contract_review --input '{\"value\": 900}' --as alice
  $ chancery workflow start contract_review --input @contract.json --key contract-117 --follow --as alice")]
    Start(Begin),
    /// Put a run on hold: nothing new begins, its colour stands still
    #[command(
        after_help = "Example:\n  $ chancery workflow pause 0197… --reason 'the client asked' --as bob"
    )]
    Pause(Run),
    /// Let a run on hold go on
    #[command(after_help = "Example:\n  $ chancery workflow resume 0197… --as bob")]
    Resume(Run),
    /// Call a run off, with an approval of exactly this
    #[command(after_help = "\
Example:
  $ chancery approval request --kind workflow_cancel --subject 0197… --title 'No longer needed' --as alice
  $ chancery approval vote 0198… --approve --as carol
  $ chancery workflow cancel 0197… --approval 0198… --as bob")]
    Cancel(Cancel),
    /// Where runs stand: all of them, or one with its steps and why it has its colour
    #[command(
        after_help = "Example:\n  $ chancery workflow status\n  $ chancery workflow status 0197… --follow"
    )]
    Status(Status),
}

#[derive(Debug, Args)]
pub(crate) struct Propose {
    /// The file, or - for stdin
    file: PathBuf,
    /// What it is called [default: the title of the definition]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The id of the change [default: your open draft of this workflow, or a new one]
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
    /// The actor class to act in, when you hold several that may
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The change
    change: Uuid,
    /// How long others can vote, such as 12h or 7d
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration)]
    expires: Duration,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Vote {
    /// The change
    change: Uuid,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The actor class to vote in, when you hold several that count
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Change {
    /// The change
    change: Uuid,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Begin {
    /// The workflow
    name: String,
    /// What the run is about: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// The id of the run [default: a new one]
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
    /// Say what happens until the run is over; Ctrl-C ends only the looking
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The run
    run: Uuid,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The run
    run: Uuid,
    /// The approval, of kind workflow_cancel
    #[arg(long, value_name = "UUID")]
    approval: Uuid,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The run [default: a list of runs]
    run: Option<Uuid>,
    /// Say what happens until the run is over; Ctrl-C ends only the looking
    #[arg(long, requires = "run")]
    follow: bool,
    /// In the list, only runs of this workflow
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    workflow: Option<String>,
    /// In the list, only runs in this state, such as paused; open for all that are not over, all for all
    #[arg(long, value_name = "STATE", default_value = "open", conflicts_with = "run")]
    state: String,
    /// In the list, how many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Propose(args) => propose(context, args).await,
        Command::Submit(args) => submit(context, &args, Kind::Workflow).await,
        Command::Approve(args) => vote(context, &args, Kind::Workflow, Decision::Approve).await,
        Command::Reject(args) => vote(context, &args, Kind::Workflow, Decision::Reject).await,
        Command::Withdraw(args) => withdraw(context, &args, Kind::Workflow).await,
        Command::Merge(args) => merge(context, &args).await,
        Command::Diff { change } => diff::diff(context, change).await,
        Command::Changes(args) => look::changes(context, args).await,
        Command::List => look::list(context).await,
        Command::Show { name, version } => look::show(context, &name, version).await,
        Command::Graph(args) => look::graph(context, args).await,
        Command::Start(args) => start(context, args).await,
        Command::Pause(args) => run_moved(context, args.run, &args.saying, RunMove::Pause).await,
        Command::Resume(args) => run_moved(context, args.run, &args.saying, RunMove::Resume).await,
        Command::Cancel(args) => {
            run_moved(context, args.run, &args.saying, RunMove::Cancel(args.approval)).await
        }
        Command::Status(args) => status(context, args).await,
    }
}

/// The definition in a file. What is no YAML is wrong usage, with its place; everything else the database says.
fn definition(file: &Path) -> Result<Value, Failure> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| Failure::Usage(format!("stdin can't be read: {error}")))?;
        engine::parse(&text).map_err(|source| Error::Parse { path: "stdin".into(), source })
    } else {
        engine::read(file)
    };
    read.map_err(|error| match error {
        Error::Parse { path, source } => {
            let place = match (source.line, source.column) {
                (Some(line), Some(column)) => format!(":{line}:{column}"),
                _ => String::new(),
            };
            let (path, why) = (path.display(), &source.message);
            Failure::Usage(format!("{path}{place}: this is neither YAML nor JSON: {why}"))
        }
        Error::File { path, source } => Failure::Usage(format!("{}: {source}", path.display())),
        other => other.into(),
    })
}

async fn propose(context: &mut Context, args: Propose) -> Result<Outcome, Failure> {
    let written =
        Written { definition: definition(&args.file)?, title: args.title, change_id: args.id };
    let (store, actor) = speaker(context).await?;
    let said = engine::Said { class: args.class, ..engine::Said::default() };
    let report = engine::propose(&store, &actor, &said, &written).await?;
    position_events(&store).await;
    if !context.out.is_json() {
        let base = report
            .base_version
            .map_or_else(|| "a new workflow".to_owned(), |n| format!("on version {n}"));
        context.out.note(&format!(
            "{} · {base} · revision {} · {} · hand it in with `chancery workflow submit {}`",
            report.workflow, report.revision_no, report.state, report.change_request_id
        ));
    }
    context.out.answer(&report, || report.change_request_id.to_string())?;
    Ok(Outcome::Done)
}

pub(crate) async fn submit(
    context: &mut Context,
    args: &Submit,
    kind: Kind,
) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let asked = Asked { expires_in: args.expires };
    let said = args.saying.said();
    let report = engine::submit(&store, &actor, &said, kind, args.change, &asked).await?;
    position_events(&store).await;
    decided(context, &report)
}

pub(crate) async fn vote(
    context: &mut Context,
    args: &Vote,
    kind: Kind,
    decision: Decision,
) -> Result<Outcome, Failure> {
    if decision == Decision::Reject && args.reason.is_none() {
        return Err(Failure::Usage("who rejects says why: --reason TEXT".to_owned()));
    }
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &VOTING_CLASSES, &[Role::App]).await?;
    let reason = args.reason.as_deref();
    let report = engine::vote(&store, &actor, &class, kind, args.change, decision, reason).await?;
    position_events(&store).await;
    decided(context, &report)
}

fn decided(context: &mut Context, report: &Submitted) -> Result<Outcome, Failure> {
    let state = state_of(&report.proposal);
    if !context.out.is_json() {
        let approval = &report.approval;
        context
            .out
            .note(&format!("{state} · approval {} · {}", approval.approval_id, approval.state));
    }
    context.out.answer(report, || state)?;
    Ok(Outcome::Done)
}

fn state_of(proposal: &Proposed) -> String {
    match proposal {
        Proposed::Change(change) => change.state.clone(),
        Proposed::Other(other) => other.state.clone(),
    }
}

pub(crate) async fn withdraw(
    context: &mut Context,
    args: &Change,
    kind: Kind,
) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let report = engine::withdraw(&store, &actor, &args.saying.said(), kind, args.change).await?;
    position_events(&store).await;
    context.out.answer(&report, || state_of(&report))?;
    Ok(Outcome::Done)
}

async fn merge(context: &mut Context, args: &Change) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let report: ChangeReport =
        engine::merge(&store, &actor, &args.saying.said(), args.change).await?;
    position_events(&store).await;
    let version = report.merged_version.unwrap_or_default();
    if !context.out.is_json() {
        let again = if report.replayed { "; merged before, nothing was done twice" } else { "" };
        context.out.note(&format!("{} is at version {version}{again}", report.workflow));
    }
    context.out.answer(&report, || version.to_string())?;
    Ok(Outcome::Done)
}

async fn start(context: &mut Context, args: Begin) -> Result<Outcome, Failure> {
    let inputs = document::read_optional("input", args.input.as_deref())?;
    let start = Start {
        workflow: args.name,
        inputs: inputs.unwrap_or_else(|| json!({})),
        run_id: args.id,
        trace_id: None,
    };
    let (store, actor) = speaker(context).await?;
    let report = engine::start(&store, &actor, &args.saying.said(), &start).await?;
    position_events(&store).await;
    told_run(context, &report, &report.workflow_run_id.to_string())?;
    if args.follow {
        return follow::follow(context, &store, report.workflow_run_id, true).await;
    }
    Ok(Outcome::Done)
}

async fn run_moved(
    context: &mut Context,
    run: Uuid,
    saying: &Saying,
    what: RunMove,
) -> Result<Outcome, Failure> {
    let (store, actor) = speaker(context).await?;
    let report = engine::move_run(&store, &actor, &saying.said(), run, what).await?;
    position_events(&store).await;
    told_run(context, &report, &report.state)
}

/// The word a script wants goes to stdout, what a person wants to know to stderr.
fn told_run(context: &mut Context, report: &RunReport, word: &str) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        let mut facts = vec![format!("{} version {}", report.workflow, report.version)];
        facts.push(report.state.clone());
        facts.push(format!("{} of {} mandatory steps", report.completed, report.mandatory));
        if report.replayed {
            facts.push("done before; nothing was done twice".to_owned());
        }
        context.out.note(&facts.join(" · "));
    }
    context.out.answer(report, || word.to_owned())?;
    Ok(Outcome::Done)
}

async fn status(context: &mut Context, args: Status) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let Some(run) = args.run else {
        let state = Some(args.state).filter(|state| state != "all");
        let listing = Listing { name: args.workflow, state, limit: args.limit };
        return look::runs(context, &store, &listing).await;
    };
    let status = engine::status(&store, run).await?;
    if args.follow {
        if !context.out.is_json() {
            context.out.line(&look::status_text(&status))?;
        }
        return follow::follow(context, &store, run, false).await;
    }
    context.out.answer(&status, || look::status_text(&status))?;
    Ok(Outcome::Done)
}
