//! `chancery approval …`: ask for an approval, vote on it, see where it stands.

use std::time::Duration;

use chancery_engine::approval::{self as engine, Decision, Missing, NewRequest, Shown};
use chancery_store::Role;
use chancery_store::approval::{ApprovalFilter, ApprovalReport, ApprovalRow};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use serde_json::json;
use uuid::Uuid;

use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::output::{digest, pairs, table, time};
use crate::session::Session;
use crate::{Context, document};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask for an approval; prints its id
    #[command(after_help = "\
With --id a repeated request is the same request. A transition's request is bound to the definition of its machine as it is now.

Example:
  $ chancery approval request --kind transition_activation --subject 'letter@1.0.0#post:draft>posted/reader' \\
      --title 'Letters may be posted' --as alice
  $ chancery approval request --kind run_transition --subject 0197… --title 'Ship it' --facts @facts.json \\
      --risk high --expires 2d --as alice")]
    Request(Request),
    /// Vote on a request; prints where it stands
    #[command(after_help = "\
Who asked does not vote. A voter may vote again while nothing is decided; the newest vote counts. A vote counts for the class \
it is signed in: sovereign, reviewer or neither.

Example:
  $ chancery approval vote 0197… --approve --rationale 'read in full' --as carol
  $ chancery approval vote 0197… --reject --rationale 'the annex is missing' --class reviewer --as bob")]
    Vote(Vote),
    /// Show a request: its votes, its quorum and what is missing
    #[command(after_help = "Example:\n  $ chancery approval show 0197…")]
    Show {
        /// The request
        approval: Uuid,
    },
    /// List requests, newest first
    #[command(after_help = "Example:\n  $ chancery approval list --state pending")]
    List(List),
}

#[derive(Debug, Args)]
pub(crate) struct Request {
    /// What is to be approved, such as transition_activation
    #[arg(long)]
    kind: String,
    /// About exactly what, such as a transition's id
    #[arg(long, value_name = "REF")]
    subject: String,
    /// In words
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// What voters should know: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    facts: Option<String>,
    /// How much harm a mistake would do [default: the least that the kind allows]
    #[arg(long, value_enum)]
    risk: Option<Risk>,
    /// How long it stands, such as 90m, 12h or 7d
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration)]
    expires: Duration,
    /// The SHA-256 of the subject as it is now [default: of a transition, that of its machine's definition]
    #[arg(long, value_name = "HEX", value_parser = digest)]
    digest: Option<[u8; 32]>,
    /// The id of the request [default: a new one]
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Risk {
    Low,
    Medium,
    High,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Pending,
    Approved,
    Rejected,
    Expired,
    Used,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("decision").args(["approve", "reject", "abstain"]).required(true))]
pub(crate) struct Vote {
    /// The request
    approval: Uuid,
    /// For it
    #[arg(long)]
    approve: bool,
    /// Against it
    #[arg(long)]
    reject: bool,
    /// Neither
    #[arg(long)]
    abstain: bool,
    /// Why, in words; signed with the vote, and shown with it
    #[arg(long, visible_alias = "reason", value_name = "TEXT")]
    rationale: Option<String>,
    /// The actor class to vote in, when you hold several that count
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only requests in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Only requests about this
    #[arg(long, value_name = "REF")]
    subject: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

/// A number with s, m, h or d behind it.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a duration is a number with s, m, h or d behind it, such as 12h".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).filter(|s| *s > 0).map(Duration::from_secs).ok_or_else(wrong)
}

fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Request(args) => request(context, args).await,
        Command::Vote(args) => vote(context, &args).await,
        Command::Show { approval } => show(context, approval).await,
        Command::List(args) => list(context, args).await,
    }
}

async fn request(context: &mut Context, args: Request) -> Result<Outcome, Failure> {
    let facts = document::read_optional("facts", args.facts.as_deref())?;
    let new = NewRequest {
        approval_id: args.id,
        kind: args.kind,
        subject_ref: args.subject,
        subject_digest: args.digest.map(Vec::from),
        risk: args.risk.as_ref().map(word),
        title: args.title,
        facts: facts.unwrap_or_else(|| json!({})),
        expires_in: args.expires,
    };
    let doors = [Role::App, Role::CutterExec, Role::CutterReview];
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &[], &doors).await?;
    let report = engine::request(&store, &actor, &class, &new).await?;
    told(context, &report, &report.approval_id.to_string())
}

async fn vote(context: &mut Context, args: &Vote) -> Result<Outcome, Failure> {
    let decision = match (args.approve, args.reject) {
        (true, _) => Decision::Approve,
        (_, true) => Decision::Reject,
        _ => Decision::Abstain,
    };
    let doors = [Role::App, Role::CutterReview];
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &engine::VOTING_CLASSES, &doors).await?;
    let rationale = args.rationale.as_deref();
    let report = engine::vote(&store, &actor, &class, args.approval, decision, rationale).await?;
    told(context, &report, &report.state)
}

/// The word a script wants goes to stdout, what a person wants to know to stderr.
fn told(context: &mut Context, report: &ApprovalReport, word: &str) -> Result<Outcome, Failure> {
    let missing = Missing::of(&report.quorum, &report.tally);
    if !context.out.is_json() {
        let mut facts = vec![report.kind.clone(), report.subject_ref.clone()];
        facts.push(format!("risk {}", report.risk));
        facts.push(report.state.clone());
        if report.state == "pending" {
            facts.push(format!("missing: {}", missing_text(&missing)));
        }
        if report.replayed {
            facts.push("done before; nothing was done twice".to_owned());
        }
        context.out.note(&facts.join(" · "));
    }
    let mut answer = json!(report);
    answer["missing"] = json!(missing);
    answer["expires_at"] = json!(instant(report.expires_at));
    context.out.answer(&answer, || word.to_owned())?;
    Ok(Outcome::Done)
}

fn instant(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros)
        .map_or_else(|_| micros.to_string(), |at| format!("{at:.6}"))
}

fn missing_text(missing: &Missing) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut part = |n: i64, one: &str, many: &str| {
        if n > 0 {
            parts.push(format!("{n} {}", if n == 1 { one } else { many }));
        }
    };
    part(missing.sovereigns, "sovereign", "sovereigns");
    part(missing.reviewers, "reviewer", "reviewers");
    part(
        (missing.approvals - missing.sovereigns - missing.reviewers).max(0),
        "approving vote",
        "approving votes",
    );
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

async fn show(context: &mut Context, approval_id: Uuid) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let shown = engine::show(&store, approval_id).await?;
    context.out.answer(&shown, || shown_text(&shown))?;
    Ok(Outcome::Done)
}

fn shown_text(shown: &Shown) -> String {
    let approval = &shown.approval;
    let (quorum, tally) = (&approval.quorum, &approval.tally);
    let facts = approval.facts.as_object().filter(|facts| !facts.is_empty());
    let used = approval.used.as_ref().map(|used| {
        let (what, by) = (&used.used_for_ref, &used.used_by);
        format!("{} by {by}, for the {} {what}", time(&used.used_at), used.used_for_kind)
    });
    let missing = (approval.state == "pending").then(|| missing_text(&shown.missing));
    let head = pairs(&[
        ("approval", approval.approval_id.to_string()),
        ("title", approval.title.clone()),
        ("kind", approval.kind.clone()),
        ("subject", format!("{} {}", approval.subject_kind, approval.subject_ref)),
        ("digest", approval.subject_digest.clone().unwrap_or_default()),
        ("facts", facts.map(|_| approval.facts.to_string()).unwrap_or_default()),
        ("asked by", format!("{}, {}", approval.proposer, time(&approval.requested_at))),
        ("expires", time(&approval.expires_at)),
        ("risk", approval.risk.clone()),
        (
            "quorum",
            format!(
                "{} of {} approving votes, {} of {} sovereigns, {} of {} reviewers, {} against it of {} allowed",
                tally.approvals,
                quorum.approvals,
                tally.sovereigns,
                quorum.sovereigns,
                tally.reviewers,
                quorum.reviewers,
                tally.rejects,
                quorum.rejects_allowed
            ),
        ),
        ("missing", missing.unwrap_or_default()),
        ("state", approval.state.clone()),
        ("used", used.unwrap_or_default()),
    ]);
    let votes = table(
        &["voter", "vote", "as", "counts", "at", "rationale"],
        shown.votes.iter().map(|vote| {
            vec![
                vote.voter.clone(),
                vote.decision.clone(),
                vote.counted_as.clone(),
                crate::output::yes_no(vote.counts),
                time(&vote.voted_at),
                vote.rationale.clone().unwrap_or_default(),
            ]
        }),
    );
    let votes = if votes.is_empty() { "nobody has voted yet".to_owned() } else { votes };
    format!("{head}\n\n{votes}")
}

async fn list(context: &mut Context, args: List) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let filter = ApprovalFilter {
        approval_id: None,
        state: args.state.as_ref().map(word),
        subject_ref: args.subject,
        limit: args.limit,
    };
    let approvals = store.approvals(&filter).await?;
    if approvals.is_empty() {
        context.out.note("there are no such requests; ask with `chancery approval request`");
    }
    context.out.answer(&approvals, || {
        table(
            &["approval", "kind", "subject", "risk", "state", "asked by", "expires", "title"],
            approvals.iter().map(listed),
        )
    })?;
    Ok(Outcome::Done)
}

fn listed(approval: &ApprovalRow) -> Vec<String> {
    vec![
        approval.approval_id.to_string(),
        approval.kind.clone(),
        approval.subject_ref.clone(),
        approval.risk.clone(),
        approval.state.clone(),
        approval.proposer.clone(),
        time(&approval.expires_at),
        approval.title.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_with_its_unit() {
        assert_eq!(duration("90m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for wrong in ["", "7", "d", "-1d", "0s", "1w", "1 d", "99999999999999999999d", "7đ"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_missing_is_said_once() {
        let missing = Missing { sovereigns: 1, reviewers: 2, approvals: 3 };
        assert_eq!(missing_text(&missing), "1 sovereign, 2 reviewers");
        let missing = Missing { sovereigns: 0, reviewers: 0, approvals: 1 };
        assert_eq!(missing_text(&missing), "1 approving vote");
    }
}
