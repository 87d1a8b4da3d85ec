//! `chancery proposal …`: what is not changed without being asked for, and is no workflow.

use chancery_engine::approval::Decision;
use chancery_engine::workflow::{self as engine, Kind, NewDraft};
use chancery_model::refusal::Code;
use chancery_store::workflow::{Listing, ProposalReport, ProposalRow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time};
use crate::saying::{Saying, position_events, reader, speaker};
use crate::session::refusal;
use crate::workflow::{Change, Submit, Vote, submit, vote, withdraw};
use crate::{Context, document};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a proposal as a draft; prints its id
    #[command(after_help = "\
Evidence is a list of {\"kind\": …, \"facts\": {…}, \"iu_id\": …}. With --id a repeated command is the same proposal.

Example:
  $ chancery proposal create --kind iu_split --title 'Two duties in one unit' --action '{\"into\": 2}' \\
      --evidence '[{\"kind\": \"search_miss\", \"facts\": {\"times\": 40}}]' --as alice")]
    Create(Create),
    /// Hand a draft in and ask others to approve it; prints where it stands
    #[command(after_help = "Example:\n  $ chancery proposal submit 0197… --as alice")]
    Submit(Submit),
    /// Vote for a proposal, signed; prints where it stands
    #[command(after_help = "Example:\n  $ chancery proposal approve 0197… --as carol")]
    Approve(Vote),
    /// Vote against a proposal, signed; prints where it stands
    #[command(
        after_help = "Example:\n  $ chancery proposal reject 0197… --reason 'one duty only' --as carol"
    )]
    Reject(Vote),
    /// Take a proposal back before others were asked about it; a draft is given up for good
    #[command(after_help = "Example:\n  $ chancery proposal withdraw 0197… --as alice")]
    Withdraw(Change),
    /// Record that what was approved is done, with what came of it; prints where it stands
    #[command(
        after_help = "Example:\n  $ chancery proposal carry-out 0197… --outcome '{\"units\": [\"RP/a\", \"RP/b\"]}' --as alice"
    )]
    CarryOut(CarryOut),
    /// List proposals, newest first
    #[command(after_help = "Example:\n  $ chancery proposal list --state review")]
    List(List),
    /// Show a proposal: what it says, what it rests on, and every move it made
    #[command(after_help = "Example:\n  $ chancery proposal show 0197…")]
    Show {
        /// The proposal
        proposal: Uuid,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What is proposed, a kind of the vocabulary such as kg_edge, iu_bundle, iu_split or iu_merge
    #[arg(long)]
    kind: String,
    /// In words
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// What is to be done: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    action: String,
    /// What it rests on: a JSON list, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    evidence: String,
    /// A unit that it changes; several are several options
    #[arg(long = "unit", value_name = "UUID")]
    units: Vec<Uuid>,
    /// What kind of proposer it comes from, as a word
    #[arg(long, value_name = "WORD", default_value = "person")]
    proposer_class: String,
    /// The id of the proposal [default: a new one]
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
    /// The actor class to act in, when you hold several that may
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CarryOut {
    /// The proposal
    proposal: Uuid,
    /// What came of it: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    outcome: String,
    #[command(flatten)]
    saying: Saying,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only proposals of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only proposals in this state, such as review
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Create(args) => create(context, args).await,
        Command::Submit(args) => submit(context, &args, Kind::Other).await,
        Command::Approve(args) => vote(context, &args, Kind::Other, Decision::Approve).await,
        Command::Reject(args) => vote(context, &args, Kind::Other, Decision::Reject).await,
        Command::Withdraw(args) => withdraw(context, &args, Kind::Other).await,
        Command::CarryOut(args) => carry_out(context, &args).await,
        Command::List(args) => list(context, args).await,
        Command::Show { proposal } => show(context, proposal).await,
    }
}

async fn create(context: &mut Context, args: Create) -> Result<Outcome, Failure> {
    let draft = NewDraft {
        proposal_id: args.id,
        kind: args.kind,
        proposer_class: args.proposer_class,
        title: args.title,
        affected_iu_ids: args.units,
        action: document::read("action", &args.action)?,
        usage: document::read("evidence", &args.evidence)?,
    };
    let (store, actor) = speaker(context).await?;
    let said = engine::Said { class: args.class, ..engine::Said::default() };
    let report = engine::create(&store, &actor, &said, &draft).await?;
    position_events(&store).await;
    told(context, &report, &report.proposal_id.to_string())
}

async fn carry_out(context: &mut Context, args: &CarryOut) -> Result<Outcome, Failure> {
    let outcome = document::read("outcome", &args.outcome)?;
    let (store, actor) = speaker(context).await?;
    let said = args.saying.said();
    let report = engine::carry_out(&store, &actor, &said, args.proposal, &outcome).await?;
    position_events(&store).await;
    told(context, &report, &report.state)
}

fn told(context: &mut Context, report: &ProposalReport, word: &str) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        let again = if report.replayed { " · done before; nothing was done twice" } else { "" };
        context.out.note(&format!("{} · {}{again}", report.kind, report.state));
    }
    context.out.answer(report, || word.to_owned())?;
    Ok(Outcome::Done)
}

async fn list(context: &mut Context, args: List) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let listing = Listing { name: args.kind, state: args.state, limit: args.limit };
    let proposals = store.proposals(&listing).await?;
    if proposals.is_empty() {
        context.out.note("there are no such proposals; write one with `chancery proposal create`");
    }
    let row = |one: &ProposalRow| {
        vec![
            one.proposal_id.to_string(),
            one.kind.clone(),
            one.state.clone(),
            one.proposer.clone(),
            time(&one.last_transition_at),
            one.title.clone(),
        ]
    };
    let header = ["proposal", "kind", "state", "by", "since", "title"];
    context.out.answer(&proposals, || table(&header, proposals.iter().map(row)))?;
    Ok(Outcome::Done)
}

async fn show(context: &mut Context, id: Uuid) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let Some(found) = store.proposal(id).await? else {
        return Err(refusal(&store, Code::RW001, json!({ "kind": "proposal", "id": id })).await);
    };
    let evidence = store.proposal_usage(id).await?;
    let history = store.workflow_history(id).await?;
    let mut answer = json!(found);
    answer["evidence"] = json!(evidence);
    answer["history"] = json!(history);
    context.out.answer(&answer, || {
        let units: Vec<String> = found.affected_iu_ids.iter().map(Uuid::to_string).collect();
        let head = pairs(&[
            ("proposal", found.proposal_id.to_string()),
            ("title", found.title.clone()),
            ("kind", found.kind.clone()),
            ("state", found.state.clone()),
            (
                "by",
                format!(
                    "{} ({}), {}",
                    found.proposer,
                    found.proposer_class,
                    time(&found.created_at)
                ),
            ),
            ("units", units.join(", ")),
            ("action", found.action.to_string()),
            ("approval", found.approval_id.map(|id| id.to_string()).unwrap_or_default()),
            ("outcome", found.outcome.as_ref().map(Value::to_string).unwrap_or_default()),
        ]);
        let rests_on = table(
            &["evidence", "unit", "facts"],
            evidence.iter().map(|one| {
                let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
                vec![text("kind"), text("iu_id"), one["facts"].to_string()]
            }),
        );
        let moves = table(
            &["move", "at", "to", "by", "as"],
            history.iter().map(|one| {
                let (seq, at) = (one.seq.to_string(), time(&one.at));
                vec![seq, at, one.to_state.clone(), one.principal.clone(), one.actor_class.clone()]
            }),
        );
        format!("{head}\n\n{rests_on}\n\n{moves}")
    })?;
    Ok(Outcome::Done)
}
