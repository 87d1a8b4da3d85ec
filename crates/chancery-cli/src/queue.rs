//! `chancery queue …`: jobs, what became of them, and dead letters that run again.

use chancery_engine::queue::people;
use chancery_model::refusal::Code;
use chancery_store::Role;
use chancery_store::queue::{JobFilter, JobRow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Context;
use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time, yes_no};
use crate::session::{Session, refusal};

mod add;
mod dead;
mod registry;
mod replay;
mod workers;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List jobs, newest first
    #[command(
        after_help = "Example:\n  $ chancery queue list\n  $ chancery queue list --class noop --state retry_waiting"
    )]
    List(List),
    /// Show a job: where it stands, and each try that failed
    #[command(after_help = "Example:\n  $ chancery queue show 0197…")]
    Show {
        /// The job
        job: Uuid,
    },
    /// Put a job into the queue, or many from stdin; prints their ids
    #[command(after_help = add::EXAMPLES)]
    Add(add::Add),
    /// Take a job back before it is done; prints its new state
    #[command(after_help = "\
A worker that has the job finds its result refused.

Example:
  $ chancery queue cancel 0197… --reason 'ordered twice' --as alice")]
    Cancel(Person),
    /// List workers and loops: when each ticked last, and whether its class is frozen
    #[command(after_help = "Example:\n  $ chancery queue workers")]
    Workers,
    /// Freeze a class of workers: silent ones do not recover until it is thawed
    #[command(
        after_help = "Example:\n  $ chancery queue freeze command --reason 'the disk is being replaced' --as alice"
    )]
    Freeze(workers::Freeze),
    /// Thaw a class of workers: silent ones recover with their next good tick
    #[command(
        after_help = "Example:\n  $ chancery queue thaw command --reason 'the disk was replaced' --as alice"
    )]
    Thaw(workers::Freeze),
    /// How many jobs of each class stand in which state
    #[command(after_help = "Example:\n  $ chancery queue depth")]
    Depth,
    /// Dead letters: jobs that could not be done
    #[command(subcommand, after_help = "Example:\n  $ chancery queue dead list")]
    Dead(dead::Command),
    /// Run dead jobs again: proposed by one, approved by another
    #[command(
        subcommand,
        after_help = "Example:\n  $ chancery queue replay propose 0197… --reason 'the file is there now' --as alice"
    )]
    Replay(replay::Command),
    /// Executor classes: who can do jobs
    #[command(subcommand, after_help = "Example:\n  $ chancery queue class list")]
    Class(registry::Class),
    /// Retry policies: how often and when a failed job is tried again
    #[command(subcommand, after_help = "Example:\n  $ chancery queue policy list")]
    Policy(registry::Policy),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only jobs of this executor class
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Only jobs in this state, such as queued or dead_letter
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

/// What a person does to one thing, and why.
#[derive(Debug, Args)]
pub(crate) struct Person {
    /// Its id
    #[arg(value_name = "ID")]
    id: Uuid,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::List(args) => list(context, args).await,
        Command::Show { job } => show(context, job).await,
        Command::Add(args) => add::add(context, args).await,
        Command::Cancel(args) => {
            let acting = args.acting(context, &people::CANCELLING_CLASSES).await?;
            let Acting { store, actor, class } = &acting;
            let report = people::cancel(store, actor, class, args.id, &args.reason).await?;
            moved(context, &report)
        }
        Command::Workers => workers::list(context).await,
        Command::Freeze(args) => workers::set_frozen(context, &args, true).await,
        Command::Thaw(args) => workers::set_frozen(context, &args, false).await,
        Command::Depth => depth(context).await,
        Command::Dead(command) => dead::dispatch(context, command).await,
        Command::Replay(command) => replay::dispatch(context, command).await,
        Command::Class(command) => registry::class(context, command).await,
        Command::Policy(command) => registry::policy(context, command).await,
    }
}

impl Person {
    async fn acting(&self, context: &Context, that_matter: &[&str]) -> Result<Acting, Failure> {
        Acting::open(context, self.class.as_deref(), that_matter, &[Role::App]).await
    }
}

/// The new state goes to stdout; that nothing was done twice is for people.
fn moved(context: &mut Context, report: &Value) -> Result<Outcome, Failure> {
    if report["replayed"] == true && !context.out.is_json() {
        context.out.note("done before; nothing was done twice");
    }
    context.out.answer(report, || report["to"].as_str().unwrap_or_default().to_owned())?;
    Ok(Outcome::Done)
}

async fn list(context: &mut Context, args: List) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let filter = JobFilter { executor_class: args.class, state: args.state, limit: args.limit };
    let jobs = store.jobs(&filter).await?;
    if jobs.is_empty() {
        context.out.note("there are no such jobs; put one in with `chancery queue add`");
    }
    context.out.answer(&jobs, || {
        table(
            &["job", "class", "kind", "state", "priority", "tries", "when", "key"],
            jobs.iter().map(listed),
        )
    })?;
    Ok(Outcome::Done)
}

fn listed(job: &JobRow) -> Vec<String> {
    let when = job.finished_at.as_ref().or(job.lease_until.as_ref()).or(job.scheduled_at.as_ref());
    vec![
        job.job_id.to_string(),
        job.executor_class.clone(),
        job.job_kind.clone(),
        job.state.clone(),
        job.priority.to_string(),
        tries(job),
        // What will not run again has no time.
        when.filter(|at| *at != "infinity").map(|at| time(at)).unwrap_or_default(),
        job.idempotency_key.clone(),
    ]
}

fn tries(job: &JobRow) -> String {
    match job.max_attempts {
        Some(most) => format!("{} of {most}", job.attempts),
        None => job.attempts.to_string(),
    }
}

async fn show(context: &mut Context, job_id: Uuid) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let Some(job) = store.job(job_id).await? else {
        return Err(refusal(&store, Code::RE011, json!({ "job_id": job_id })).await);
    };
    // The log knows a job only once it died or somebody acted on it.
    let history = store.queue_history(job_id).await?;
    let mut answer = json!(job);
    answer["history"] = json!(history);
    context.out.answer(&answer, || {
        let mut text = shown(&job);
        let moves = moves(&history);
        if !moves.is_empty() {
            text.push_str("\n\n");
            text.push_str(&moves);
        }
        text
    })?;
    Ok(Outcome::Done)
}

fn shown(job: &JobRow) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let at = |value: &Option<String>| {
        value.as_deref().filter(|at| *at != "infinity").map(time).unwrap_or_default()
    };
    let head = pairs(&[
        ("job", job.job_id.to_string()),
        ("class", job.executor_class.clone()),
        ("kind", job.job_kind.clone()),
        ("state", job.state.clone()),
        ("key", job.idempotency_key.clone()),
        ("asked by", format!("{}, {}", job.started_by, time(&job.created_at))),
        ("tries", tries(job)),
        ("not before", at(&job.scheduled_at)),
        ("worker", text(&job.lease_owner)),
        ("lease until", at(&job.lease_until)),
        ("done", at(&job.finished_at)),
        ("payload", job.payload_json.to_string()),
        ("payload ref", text(&job.payload_ref)),
        ("source ref", text(&job.source_ref)),
        ("target ref", text(&job.target_ref)),
        ("result", job.result.as_ref().map(Value::to_string).unwrap_or_default()),
        ("replay of", job.replay_request_id.map(|id| id.to_string()).unwrap_or_default()),
        ("trace", job.trace_id.clone()),
    ]);
    let failures = failures(&job.failures);
    if failures.is_empty() { head } else { format!("{head}\n\n{failures}") }
}

/// Tries that failed, as a job and its dead letter keep them.
fn failures(failures: &Value) -> String {
    let rows: Vec<Vec<String>> = failures
        .as_array()
        .into_iter()
        .flatten()
        .map(|failure| {
            let text = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
            vec![
                failure["attempt"].to_string(),
                time(&text("at")),
                text("worker"),
                text("classification"),
                text("reason"),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table(&["try", "at", "worker", "what", "reason"], rows)
}

/// What the log has of a job.
fn moves(history: &[Value]) -> String {
    if history.is_empty() {
        return String::new();
    }
    table(
        &["move", "at", "from", "to", "by", "as", "signed", "reason"],
        history.iter().map(|row| {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            vec![
                row["seq"].to_string(),
                time(&text("at")),
                text("from_state"),
                text("to_state"),
                text("principal"),
                text("actor_class"),
                yes_no(row["signed"] == true),
                text("reason"),
            ]
        }),
    )
}

async fn depth(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let depth = store.queue_depth().await?;
    if depth.is_empty() {
        context.out.note("the queue is empty");
    }
    context.out.answer(&depth, || {
        let row = |row: &chancery_store::queue::DepthRow| {
            vec![row.executor_class.clone(), row.state.clone(), row.jobs.to_string()]
        };
        table(&["class", "state", "jobs"], depth.iter().map(row))
    })?;
    Ok(Outcome::Done)
}
