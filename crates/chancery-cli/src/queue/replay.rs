//! `chancery queue replay …`: dead jobs run again, proposed by one person and approved by another.

use std::time::Duration;

use chancery_engine::queue::people::{self, Proposal};
use chancery_model::refusal::Code;
use chancery_store::Role;
use chancery_store::queue::ReplayRequest;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::add::delay;
use super::{Person, moved};
use crate::Context;
use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::output::table;
use crate::session::{Session, refusal};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a replay would run, and what stands against it; changes nothing
    #[command(after_help = "Example:\n  $ chancery queue replay preview 0197… 0198… --stagger 5s")]
    Preview(Preview),
    /// Propose to run dead jobs again; prints the batch and the approval that somebody else votes on
    #[command(after_help = "\
Nothing runs before the approval is given and the batch is run. With --batch a repeated proposal is the same one.

Example:
  $ chancery queue replay propose 0197… 0198… --reason 'the file is there now' --stagger 5s --as alice
  $ chancery approval vote 0197… --approve --as bob")]
    Propose(Propose),
    /// Run an approved batch; prints the new jobs
    #[command(after_help = "\
Both ids are needed. Each job runs under a key of its own that points at its request, and so at the original, which stays.

Example:
  $ chancery queue replay run 0197… --approval 0198… --as alice")]
    Run(Run),
    /// Show a batch: each request, its job and what became of it
    #[command(after_help = "Example:\n  $ chancery queue replay show 0197…")]
    Show {
        /// The batch
        batch: Uuid,
    },
    /// Take a request of a batch back; prints its new state
    #[command(after_help = "\
Example:
  $ chancery queue replay withdraw 0197… --reason 'it was the wrong file' --as alice")]
    Withdraw(Person),
}

#[derive(Debug, Args)]
pub(crate) struct Preview {
    /// The dead jobs
    #[arg(required = true)]
    jobs: Vec<Uuid>,
    /// How long from one to the next, such as 500ms or 5s
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = delay)]
    stagger: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Propose {
    #[command(flatten)]
    what: Preview,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The id of the batch [default: a new one]
    #[arg(long, value_name = "UUID")]
    batch: Option<Uuid>,
    /// How long the approval can be given, such as 12h or 7d
    #[arg(long, value_name = "DURATION", default_value = "1d", value_parser = delay)]
    expires: Duration,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The batch
    batch: Uuid,
    /// The approval of somebody else
    #[arg(long, value_name = "UUID")]
    approval: Uuid,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

impl Preview {
    /// More than the database takes is refused there.
    fn stagger_ms(&self) -> i32 {
        i32::try_from(self.stagger.as_millis()).unwrap_or(i32::MAX)
    }
}

pub(super) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Preview(args) => preview(context, &args).await,
        Command::Propose(args) => propose(context, args).await,
        Command::Run(args) => run(context, &args).await,
        Command::Show { batch } => show(context, batch).await,
        Command::Withdraw(args) => {
            let acting = args.acting(context, &people::CANCELLING_CLASSES).await?;
            let Acting { store, actor, class } = &acting;
            let report = people::withdraw(store, actor, class, args.id, &args.reason).await?;
            moved(context, &report)
        }
    }
}

async fn preview(context: &mut Context, args: &Preview) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let plan = people::preview(&store, &args.jobs, args.stagger_ms()).await?;
    context.out.answer(&plan, || {
        let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        table(
            &["job", "class", "kind", "after", "died of", "reason", "payload", "against it"],
            plan.iter().map(|one| {
                vec![
                    text(one, "job_id"),
                    text(one, "executor_class"),
                    text(one, "job_kind"),
                    format!("{} ms", one["starts_after_ms"]),
                    text(one, "died_of"),
                    text(one, "reason"),
                    one["payload"].to_string(),
                    text(one, "against"),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

async fn propose(context: &mut Context, args: Propose) -> Result<Outcome, Failure> {
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &people::PROPOSING_CLASSES, &[Role::App])
            .await?;
    let proposal = Proposal {
        batch_id: args.batch,
        stagger_ms: args.what.stagger_ms(),
        job_ids: args.what.jobs,
        reason: args.reason,
        expires_in: args.expires,
    };
    let proposed = people::propose(&store, &actor, &class, &proposal).await?;
    let (batch, approval) = (proposed.batch.batch_id, proposed.approval.approval_id);
    if !context.out.is_json() {
        context.out.note(&format!(
            "somebody else votes: `chancery approval vote {approval} --approve --as NAME`; then \
             `chancery queue replay run {batch} --approval {approval} --as {}`",
            actor.principal
        ));
    }
    context.out.answer(&proposed, || format!("batch     {batch}\napproval  {approval}"))?;
    Ok(Outcome::Done)
}

async fn run(context: &mut Context, args: &Run) -> Result<Outcome, Failure> {
    let Acting { store, actor, class } =
        Acting::open(context, args.class.as_deref(), &people::PROPOSING_CLASSES, &[Role::App])
            .await?;
    let batch = people::run(&store, &actor, &class, args.batch, args.approval).await?;
    if batch.replayed && !context.out.is_json() {
        context.out.note("run before; nothing was done twice");
    }
    context.out.answer(&batch, || {
        let jobs = batch.requests.iter().filter_map(|request| request.replay_job_id);
        jobs.map(|job| job.to_string()).collect::<Vec<_>>().join("\n")
    })?;
    Ok(Outcome::Done)
}

async fn show(context: &mut Context, batch: Uuid) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let requests = store.replay_batch(batch).await?;
    if requests.is_empty() {
        let facts = json!({ "batch_id": batch, "why": "there is no such batch" });
        return Err(refusal(&store, Code::RE016, facts).await);
    }
    context.out.answer(&requests, || {
        table(
            &["request", "dead job", "state", "approval", "new job", "outcome"],
            requests.iter().map(listed),
        )
    })?;
    Ok(Outcome::Done)
}

fn listed(request: &ReplayRequest) -> Vec<String> {
    let id = |id: Option<Uuid>| id.map(|id| id.to_string()).unwrap_or_default();
    let outcome = request.outcome.as_ref().and_then(|outcome| outcome["outcome"].as_str());
    vec![
        request.dlq_replay_request_id.to_string(),
        request.job_id.to_string(),
        request.state.clone(),
        id(request.approval_id),
        id(request.replay_job_id),
        outcome.unwrap_or_default().to_owned(),
    ]
}
