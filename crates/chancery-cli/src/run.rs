//! `chancery run …`: runs of custom machines.

use chancery_engine::event;
use chancery_engine::run::{self as engine, Actor, Birth, Request};
use chancery_model::refusal::Code;
use chancery_store::fsm::{HistoryRow, MoveReport, Preview, RunRow};
use chancery_store::{Role, Store};
use clap::{Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

use crate::failure::{Failure, Outcome, refusal_text};
use crate::output::{pairs, table, time, yes_no};
use crate::session::{Session, refusal};
use crate::{Context, document};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a run; prints its id
    #[command(after_help = "\
Example:
  $ chancery run start --machine purchase_approval --data '{\"amount\": 900}' --as alice")]
    Start(Start),
    /// Move a run; prints its new state
    #[command(after_help = "\
What is left out is looked up where the rules leave no choice: the trigger, and the actor class \
when the principal holds only one that fits. The database judges the move in any case.

Example:
  $ chancery run move 0197… --to submitted --as alice
  $ chancery run move 0197… --to ordered --as dora --evidence @order.json --preview")]
    Move(Move),
    /// Show where a run is and which ways lead on
    #[command(after_help = "Example:\n  $ chancery run show 0197…")]
    Show {
        /// The run
        run: Uuid,
    },
    /// Show every move a run made
    #[command(after_help = "Example:\n  $ chancery run history 0197… --events")]
    History {
        /// The run
        run: Uuid,
        /// Print the events it emitted instead, as CloudEvents, one a line
        #[arg(long)]
        events: bool,
    },
    /// List runs, newest first
    #[command(after_help = "Example:\n  $ chancery run list --machine purchase_approval")]
    List {
        /// Only runs of this machine (a name or an id)
        #[arg(long, value_name = "NAME")]
        machine: Option<String>,
        /// How many at most
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
        limit: i64,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The machine
    #[arg(long, value_name = "NAME")]
    machine: String,
    /// The id of the new run [default: a new one]
    #[arg(long)]
    id: Option<Uuid>,
    /// What the run is about: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// The run it belongs to
    #[arg(long, value_name = "RUN")]
    parent: Option<Uuid>,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The run
    run: Uuid,
    /// The state to move to
    #[arg(long, value_name = "STATE")]
    to: String,
    /// The state you believe it to be in; refused when it is in another
    #[arg(long, value_name = "STATE")]
    from: Option<String>,
    #[command(flatten)]
    asked: Asked,
    /// Only say what would happen; changes nothing
    #[arg(long)]
    preview: bool,
}

/// What a birth and a move have in common.
#[derive(Debug, Args)]
struct Asked {
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    actor: Option<String>,
    /// What sets it off, such as rpc:purchase_submit
    #[arg(long, value_name = "KIND:REF", value_parser = trigger)]
    trigger: Option<(String, String)>,
    /// The idempotency key: the same request with the same key is done once [default: a new one]
    #[arg(long)]
    key: Option<String>,
    /// What backs it: a JSON object, or @FILE, or @- for stdin
    #[arg(long, value_name = "JSON")]
    evidence: Option<String>,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

fn trigger(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((kind, reference)) if !kind.is_empty() && !reference.is_empty() => {
            Ok((kind.to_owned(), reference.to_owned()))
        }
        _ => Err("a trigger is written KIND:REF, such as rpc:purchase_submit".to_owned()),
    }
}

impl Asked {
    fn request(self, from: Option<String>) -> Result<Request, Failure> {
        let evidence = document::read_optional("evidence", self.evidence.as_deref())?;
        Ok(Request {
            from,
            actor_class: self.actor,
            trigger: self.trigger,
            idempotency_key: self.key,
            evidence,
            reason: self.reason,
        })
    }
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Start(args) => start(context, args).await,
        Command::Move(args) => make_move(context, args).await,
        Command::Show { run } => show(context, run).await,
        Command::History { run, events } => history(context, run, events).await,
        Command::List { machine, limit } => list(context, machine.as_deref(), limit).await,
    }
}

async fn start(context: &mut Context, args: Start) -> Result<Outcome, Failure> {
    let birth = Birth {
        run_id: args.id,
        data: document::read_optional("data", args.data.as_deref())?,
        parent: args.parent,
        trace_id: None,
        request: args.asked.request(None)?,
    };
    let (store, actor) = act(context).await?;
    let report = engine::start(&store, &actor, &args.machine, &birth).await?;
    position_events(&store).await;
    told(context, &report, &report.run_id.to_string())
}

async fn make_move(context: &mut Context, args: Move) -> Result<Outcome, Failure> {
    let request = args.asked.request(args.from)?;
    let (store, actor) = act(context).await?;
    if args.preview {
        let preview = engine::preview(&store, &actor, args.run, &args.to, &request).await?;
        return previewed(context, &store, &preview).await;
    }
    let report = engine::make_move(&store, &actor, args.run, &args.to, &request).await?;
    position_events(&store).await;
    told(context, &report, &report.to)
}

async fn act(context: &Context) -> Result<(Store, Actor), Failure> {
    let principal = context.config.acting()?;
    let store = Session::open(context).await?.store(Role::App).await?;
    let actor = Actor::open(&store, &context.config.keystore(), principal).await?;
    Ok((store, actor))
}

/// Gives the event its position now rather than when a server next looks. The move is committed: whatever happens here,
/// nothing is lost.
async fn position_events(store: &Store) {
    if let Err(error) = event::sequence_now(store).await {
        tracing::warn!(%error, "the event has no position yet; it gets one later");
    }
}

/// The word a script wants goes to stdout, what a person wants to know to stderr.
fn told(context: &mut Context, report: &MoveReport, word: &str) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        let mut facts = vec![format!("{} → {}", report.from.as_deref().unwrap_or("∅"), report.to)];
        facts.extend(report.transition_id.as_deref().map(|id| label(id).to_owned()));
        facts.extend(report.seq.map(|seq| format!("seq {seq}")));
        facts.extend(report.emitted_event_type.as_ref().map(|event| format!("event {event}")));
        if report.replayed {
            facts.push("done before with this key; nothing was done twice".to_owned());
        }
        context.out.note(&facts.join(" · "));
    }
    context.out.answer(report, || word.to_owned())?;
    Ok(Outcome::Done)
}

async fn previewed(
    context: &mut Context,
    store: &Store,
    preview: &Preview,
) -> Result<Outcome, Failure> {
    let text = match preview.problems.first() {
        None => pairs(&[
            ("ok", yes_no(preview.ok)),
            ("transition", preview.transition_id.clone().unwrap_or_default()),
            ("event", preview.emitted_event_type.clone().unwrap_or_default()),
        ]),
        Some(first) => {
            let refusal = store.refusal(first.code, preview.problems.clone()).await?;
            format!("would be {}", refusal_text(&refusal))
        }
    };
    context.out.answer(preview, || text)?;
    Ok(if preview.ok { Outcome::Done } else { Outcome::Refused })
}

async fn show(context: &mut Context, run_id: Uuid) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let run = find(&store, run_id).await?;
    context.out.answer(&run, || {
        let state = match &run.facet {
            Some(facet) => format!("{} ({facet})", run.state),
            None => run.state.clone(),
        };
        let head = pairs(&[
            ("run", run.run_id.to_string()),
            ("machine", run.state_machine_id.clone()),
            ("state", state),
            ("seq", run.seq.to_string()),
            ("data", run.data.to_string()),
            ("parent", run.parent_run_id.map(|id| id.to_string()).unwrap_or_default()),
            ("started", format!("{} by {}", time(&run.created_at), run.started_by)),
            ("last move", time(&run.last_transition_at)),
            ("trace", run.trace_id.clone()),
        ]);
        let on = if run.ways_on.is_empty() { "no way leads on".to_owned() } else { ways_on(&run) };
        format!("{head}\n\n{on}")
    })?;
    Ok(Outcome::Done)
}

async fn find(store: &Store, run_id: Uuid) -> Result<RunRow, Failure> {
    match store.run(run_id).await? {
        Some(run) => Ok(run),
        None => {
            Err(refusal(store, Code::RS001, json!({ "run_kind": "custom", "run_id": run_id }))
                .await)
        }
    }
}

fn ways_on(run: &RunRow) -> String {
    table(
        &["way on to", "by", "move", "trigger", "needs"],
        run.ways_on.iter().map(|way| {
            let mut needs: Vec<&str> = way.guards.as_deref().into_iter().collect();
            if way.audit {
                needs.push("evidence.audit_ref");
            }
            if way.proposed {
                needs.push("approval");
            }
            vec![
                way.to.clone(),
                way.actor_class.clone(),
                way.label.clone(),
                way.trigger.clone(),
                needs.join(", "),
            ]
        }),
    )
}

async fn history(context: &mut Context, run_id: Uuid, events: bool) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    find(&store, run_id).await?;
    if events {
        let events: Vec<_> =
            store.events_of_run(run_id).await?.into_iter().map(|event| event.cloudevent).collect();
        context.out.answer(&events, || {
            events.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        })?;
    } else {
        let moves = store.history(run_id).await?;
        context.out.answer(&moves, || moves_text(&moves))?;
    }
    Ok(Outcome::Done)
}

fn moves_text(moves: &[HistoryRow]) -> String {
    table(
        &[
            "seq", "at", "from", "to", "move", "by", "as", "event", "position", "signed", "hash",
            "reason",
        ],
        moves.iter().map(|row| {
            vec![
                row.seq.to_string(),
                time(&row.at),
                row.from.clone().unwrap_or_else(|| "∅".to_owned()),
                row.to.clone(),
                label(&row.transition_id).to_owned(),
                row.principal.clone(),
                row.actor_class.clone(),
                row.event_type.clone().unwrap_or_default(),
                row.event_position.map(|position| position.to_string()).unwrap_or_default(),
                yes_no(row.signed),
                row.hash.chars().take(12).collect(),
                row.reason.clone().unwrap_or_default(),
            ]
        }),
    )
}

/// The label in a transition's id, `<machine>@<version>#<label>:<from>><to>/<actor>`.
fn label(transition_id: &str) -> &str {
    let rest = transition_id.split_once('#').map_or(transition_id, |(_, rest)| rest);
    rest.split_once(':').map_or(rest, |(label, _)| label)
}

async fn list(
    context: &mut Context,
    machine: Option<&str>,
    limit: i64,
) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let runs = store.runs(machine, limit).await?;
    if runs.is_empty() {
        context.out.note("there are no runs; start one with `chancery run start`");
    }
    context.out.answer(&runs, || {
        table(
            &["run", "machine", "state", "seq", "started by", "last move"],
            runs.iter().map(|run| {
                vec![
                    run.run_id.to_string(),
                    run.state_machine_id.clone(),
                    run.state.clone(),
                    run.seq.to_string(),
                    run.started_by.clone(),
                    time(&run.last_transition_at),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_stands_between_the_machine_and_the_states() {
        assert_eq!(label("purchase_approval@1.0.0#submit:draft>submitted/pic_human"), "submit");
        assert_eq!(label("odd"), "odd");
    }

    #[test]
    fn a_trigger_has_a_kind_and_a_reference() {
        assert_eq!(trigger("rpc:a:b"), Ok(("rpc".to_owned(), "a:b".to_owned())));
        for wrong in ["rpc", "rpc:", ":x", ""] {
            assert!(trigger(wrong).is_err(), "{wrong}");
        }
    }
}
