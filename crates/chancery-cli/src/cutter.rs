//! `chancery cutter …`, also the program `cutter`: from a document to verified units.

pub(crate) mod look;

use chancery_document::Profile;
use chancery_engine::cutter::{
    self as engine, AbandonRequest, MarkRequest, ReviewRequest, Verdict,
};
use chancery_engine::event;
use chancery_engine::run::Actor;
use chancery_store::cutter::{EntryFilter, EntryReport};
use chancery_store::{Role, Store};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use uuid::Uuid;

use crate::Context;
use crate::doc::profile;
use crate::entry::{self, Rules};
use crate::failure::{Failure, Outcome};
use crate::orchestrate;
use crate::output::{count, digest, watched};
use crate::session::Session;

pub(crate) const EXAMPLES: &str = "\
One phase, one transaction, one duty: who approves did not mark, who verifies did not cut. An entry can be named by its id, \
or by its document when that leaves no choice.

Example:
  $ chancery cutter mark records-policy --as alice
  $ chancery cutter sweep --as executor
  $ chancery cutter review records-policy --approve --as rita
  $ chancery cutter cut records-policy --as executor
  $ chancery cutter verify records-policy --as verifier
  $ chancery cutter show records-policy";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask for a document to be cut; prints the entry's id
    #[command(after_help = "\
Repeating it changes nothing: one version of a document is one entry, unless --key names another.

Example:
  $ chancery cutter mark records-policy --as alice
  $ chancery cutter mark annex --depends-on 0197… --as alice")]
    Mark(Mark),
    /// Put what was marked or deferred before the review authority; prints the entries
    #[command(after_help = "Example:\n  $ chancery cutter sweep --as executor")]
    Sweep {
        /// How many at most [default: as many as a pass may take]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
        limit: Option<i32>,
    },
    /// Look at the plan of a cut, and decide on it
    #[command(after_help = "\
The plan is made anew from the stored source. With --manifest a decision is good for the plan with that digest only.

Example:
  $ chancery cutter review records-policy --preview
  $ chancery cutter review records-policy --approve --rationale 'read in full' --as rita
  $ chancery cutter review 0197… --defer --rationale 'the annex is missing' --risk high --as rita")]
    Review(Review),
    /// Apply an approved plan: write its units and sign for them
    #[command(after_help = "\
Cut twice is cut once: the second call is told what the first one did.

Example:
  $ chancery cutter cut records-policy --as executor")]
    Cut {
        /// The entry, or its document
        entry: String,
    },
    /// Check a cut independently, and sign the verdict
    #[command(after_help = "\
The source is cut again and compared with what stands in the tables. A difference ends with exit code 1: the cut is taken \
back and an escalation opened.

Example:
  $ chancery cutter verify records-policy --as verifier")]
    Verify {
        /// The entry, or its document
        entry: String,
        /// Verify once more what was verified before; the new verdict is chained to the old one
        #[arg(long)]
        again: bool,
    },
    /// Give an entry up for good; what was cut and not verified is taken back
    #[command(after_help = "\
Example:
  $ chancery cutter abandon 0197… --reason 'withdrawn by the author' --as carol")]
    Abandon(Abandon),
    /// Show an entry: its phases, who did them, and what can come next
    #[command(after_help = "Example:\n  $ chancery cutter show records-policy")]
    Show {
        /// The entry, or its document
        entry: String,
    },
    /// List entries, newest first
    #[command(after_help = "Example:\n  $ chancery cutter list --status review_pending")]
    List(List),
    /// Take a document from `pending` to `closeout_reported`, with two sovereign gates on the way
    #[command(subcommand, after_help = orchestrate::EXAMPLES)]
    Orchestrate(orchestrate::Command),
}

#[derive(Debug, Args)]
pub(crate) struct Mark {
    /// The document
    #[arg(value_name = "DOC")]
    document: String,
    /// The version [default: the newest]
    #[arg(long, value_name = "N")]
    version: Option<i32>,
    /// The entry's key [default: made from the document and its digest]
    #[arg(long)]
    key: Option<String>,
    /// An entry that must be verified before this one is cut; may be given several times
    #[arg(long, value_name = "ENTRY")]
    depends_on: Vec<String>,
    /// How it is divided [default: what its text looks like]
    #[arg(long, value_parser = profile())]
    profile: Option<Profile>,
    /// What its units are [default: law_unit for legal profiles, design_doc_section for markdown]
    #[arg(long, value_name = "KIND")]
    unit_kind: Option<String>,
    /// What it is published as [default: law for legal profiles, document for markdown]
    #[arg(long, value_name = "TYPE")]
    publication_type: Option<String>,
    /// The scenario or law that it belongs to, such as dieu44; it is kept with the entry
    #[arg(long, value_name = "REF")]
    scenario: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("verdict").args(["approve", "reject", "defer", "preview"]).required(true))]
pub(crate) struct Review {
    /// The entry, or its document
    entry: String,
    /// It may be cut as planned
    #[arg(long)]
    approve: bool,
    /// It is refused for good
    #[arg(long)]
    reject: bool,
    /// Not now; a later sweep brings it back
    #[arg(long)]
    defer: bool,
    /// Why, in words; a part of what is signed
    #[arg(long, value_name = "TEXT", conflicts_with = "preview")]
    rationale: Option<String>,
    /// How much harm a mistake would do
    #[arg(long, value_enum, default_value_t = Risk::Low, conflicts_with = "preview")]
    risk: Risk,
    /// The digest of the plan that was looked at; refused when the plan is another one
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    manifest: Option<[u8; 32]>,
    /// Only show the plan; changes nothing
    #[arg(long)]
    preview: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Risk {
    Low,
    Medium,
    High,
}

#[derive(Debug, Args)]
pub(crate) struct Abandon {
    /// The entry, or its document
    entry: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// What it rests on, such as a resolution [default: the reason]
    #[arg(long, value_name = "TEXT")]
    audit_ref: Option<String>,
    /// The idempotency key: the same request with the same key is done once [default: made from the entry]
    #[arg(long)]
    key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only entries in this state
    #[arg(long, value_name = "STATE")]
    status: Option<String>,
    /// Only entries for this document
    #[arg(long, value_name = "DOC")]
    document: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

impl Risk {
    const fn code(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Mark(args) => mark(context, args).await,
        Command::Sweep { limit } => sweep(context, limit).await,
        Command::Review(args) => review(context, args).await,
        Command::Cut { entry } => cut(context, &entry).await,
        Command::Verify { entry, again } => verify(context, &entry, again).await,
        Command::Abandon(args) => abandon(context, args).await,
        Command::Show { entry } => show(context, &entry).await,
        Command::List(args) => list(context, args).await,
        Command::Orchestrate(command) => Box::pin(orchestrate::dispatch(context, command)).await,
    }
}

async fn mark(context: &mut Context, args: Mark) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::MarkOrSweep).await?;
    let mut depends_on = Vec::new();
    for name in &args.depends_on {
        depends_on.push(match name.parse::<Uuid>() {
            Ok(id) => id,
            Err(_) => entry::find(&desk.store, name).await?.entry_id,
        });
    }
    let request = MarkRequest {
        document_id: args.document,
        version: args.version,
        idempotency_key: args.key,
        depends_on,
        profile: args.profile,
        unit_kind: args.unit_kind,
        publication_type: args.publication_type,
        scenario_ref: args.scenario,
        ..MarkRequest::default()
    };
    let report = engine::mark(&desk.store, &desk.actor, &request).await?;
    desk.position_events().await;
    if report.replayed && !is_open(&desk.store, report.entry_id).await? {
        context.out.note(&format!(
            "this entry ended as {}; to ask anew, name the new entry with --key",
            report.status
        ));
    }
    told(context, &report, &report.entry_id.to_string())
}

async fn is_open(store: &Store, entry_id: Uuid) -> Result<bool, Failure> {
    let entry = entry::find(store, &entry_id.to_string()).await?;
    Ok(Rules::read(store).await?.is_open(&entry))
}

async fn sweep(context: &mut Context, limit: Option<i32>) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::MarkOrSweep).await?;
    let report = engine::sweep(&desk.store, &desk.actor.principal, "manual", limit).await?;
    desk.position_events().await;
    if !context.out.is_json() {
        let entries = count(report.entries.len(), "entry", "entries");
        context.out.note(&format!("{entries} put before the review authority"));
    }
    context.out.answer(&report, || lines(&report.entries))?;
    Ok(Outcome::Done)
}

fn lines(ids: &[Uuid]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

async fn review(context: &mut Context, args: Review) -> Result<Outcome, Failure> {
    let verdict = match (args.approve, args.reject, args.defer) {
        (true, ..) => Verdict::Approve,
        (_, true, _) => Verdict::Reject,
        (.., true) => Verdict::Defer,
        _ => return preview(context, &args.entry).await,
    };
    let desk = Desk::open(context, Duty::Review).await?;
    let entry = entry::find(&desk.store, &args.entry).await?;
    let request = ReviewRequest {
        rationale: args.rationale,
        risk: args.risk.code().to_owned(),
        manifest_digest: args.manifest,
        ..ReviewRequest::new(verdict)
    };
    let work = engine::review(&desk.store, &desk.actor, entry.entry_id, &request);
    let report = watched(&context.out, "planning and deciding", work).await?;
    desk.position_events().await;
    told(context, &report, &report.status)
}

async fn preview(context: &mut Context, name: &str) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let entry = entry::find(&store, name).await?;
    let plan = engine::plan(&store, entry.entry_id).await?;
    look::plan(context, &plan)
}

async fn cut(context: &mut Context, name: &str) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::Cut).await?;
    let entry = entry::find(&desk.store, name).await?;
    let work = engine::cut(&desk.store, &desk.actor, entry.entry_id);
    let report = watched(&context.out, "cutting", work).await?;
    desk.position_events().await;
    told(context, &report, &report.status)
}

async fn verify(context: &mut Context, name: &str, again: bool) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::Verify).await?;
    let entry = entry::find(&desk.store, name).await?;
    let work = async {
        if again {
            engine::verify_again(&desk.store, &desk.actor, entry.entry_id).await
        } else {
            engine::verify(&desk.store, &desk.actor, entry.entry_id).await
        }
    };
    let verified = watched(&context.out, "verifying", work).await?;
    desk.position_events().await;
    if context.out.is_json() {
        context.out.json(&look::verdict(&verified))?;
    } else {
        context.out.note(&facts(&verified.report).join(" · "));
        context.out.line(&verified.report.status)?;
        context.out.line(&look::findings(&verified.findings))?;
    }
    Ok(if verified.passed() { Outcome::Done } else { Outcome::Failed })
}

async fn abandon(context: &mut Context, args: Abandon) -> Result<Outcome, Failure> {
    let desk = Desk::open(context, Duty::Abandon).await?;
    let entry = entry::find(&desk.store, &args.entry).await?;
    let request = AbandonRequest {
        reason: args.reason,
        audit_ref: args.audit_ref,
        idempotency_key: args.key,
    };
    let report = engine::abandon(&desk.store, &desk.actor, entry.entry_id, &request).await?;
    desk.position_events().await;
    told(context, &report, &report.status)
}

async fn show(context: &mut Context, name: &str) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let entry = entry::find(&store, name).await?;
    let shown = engine::show(&store, entry.entry_id).await?;
    let source = match entry.source_version_id {
        Some(id) => store.source_version(id).await?,
        None => None,
    };
    let rules = Rules::read(&store).await?;
    context.out.answer(&shown, || look::entry(&shown, &rules, source.as_ref()))?;
    Ok(Outcome::Done)
}

async fn list(context: &mut Context, args: List) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let filter = EntryFilter {
        status: args.status,
        document_id: args.document,
        limit: args.limit,
        oldest_first: false,
    };
    let entries = store.entries(&filter).await?;
    if entries.is_empty() {
        context.out.note("there are no such entries; ask for one with `chancery cutter mark DOC`");
    }
    context.out.answer(&entries, || look::list(&entries))?;
    Ok(Outcome::Done)
}

/// The word a script wants goes to stdout, what a person wants to know to stderr.
fn told(context: &mut Context, report: &EntryReport, word: &str) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        context.out.note(&facts(report).join(" · "));
    }
    context.out.answer(report, || word.to_owned())?;
    Ok(Outcome::Done)
}

pub(crate) fn facts(report: &EntryReport) -> Vec<String> {
    let mut facts: Vec<String> = report.document_id.iter().cloned().collect();
    facts.push(report.status.clone());
    facts.extend(report.units.map(|units| units_text(usize::try_from(units).unwrap_or_default())));
    facts.push(format!("seq {}", report.seq));
    facts.extend(report.rollback_change_set_id.map(|id| format!("taken back by {id}")));
    facts.extend(report.escalation_ref.map(|id| format!("escalated to {id}")));
    if report.replayed {
        facts.push("done before; nothing was done twice".to_owned());
    }
    facts
}

fn units_text(units: usize) -> String {
    count(units, "unit", "units")
}

/// A duty, as which login it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    MarkOrSweep,
    Review,
    Cut,
    Verify,
    Abandon,
}

/// Somebody at work: the login of the duty, and who acts with which key.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) store: Store,
    pub(crate) actor: Actor,
}

impl Desk {
    pub(crate) async fn open(context: &Context, duty: Duty) -> Result<Self, Failure> {
        let principal = context.config.acting()?;
        let session = Session::open(context).await?;
        let role = match duty {
            Duty::Review => Role::CutterReview,
            Duty::Cut => Role::CutterExec,
            Duty::Verify => Role::CutterVerify,
            Duty::Abandon => Role::App,
            Duty::MarkOrSweep => marking_login(&session, principal).await?,
        };
        let store = session.store(role).await?;
        let actor = Actor::open(&store, &context.config.keystore(), principal).await?;
        Ok(Self { session, store, actor })
    }

    /// Gives the events their positions now rather than when a server next looks. What was done is committed: whatever happens
    /// here, nothing is lost.
    pub(crate) async fn position_events(&self) {
        // Positions are given by the login of the product's loops. A machine of the cutter need not have it: then others do it.
        let Ok(store) = self.session.store(Role::App).await else { return };
        if let Err(error) = event::sequence_now(&store).await {
            tracing::warn!(%error, "the event has no position yet; it gets one later");
        }
    }
}

/// The executor marks and sweeps as itself; everybody else through the login of people and loops.
async fn marking_login(session: &Session, principal: &str) -> Result<Role, Failure> {
    let Ok(store) = session.store(Role::App).await else { return Ok(Role::CutterExec) };
    let is_executor = store
        .principals()
        .await?
        .iter()
        .filter(|known| known.name == principal)
        .any(|known| known.actor_classes.iter().any(|class| class == "executor_dot991"));
    Ok(if is_executor { Role::CutterExec } else { Role::App })
}
