//! `chancery queue dead …`: jobs that could not be done.

use chancery_engine::queue::people;
use chancery_model::refusal::Code;
use chancery_store::Role;
use chancery_store::queue::{DeadLetterRow, JobFilter};
use clap::{Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

use super::{Person, failures, moved};
use crate::Context;
use crate::acting::Acting;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time};
use crate::session::{Session, refusal};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List dead letters that nobody settled, newest first
    #[command(
        after_help = "Example:\n  $ chancery queue dead list\n  $ chancery queue dead list --class noop --all"
    )]
    List(List),
    /// Show a dead letter with its whole story
    #[command(after_help = "Example:\n  $ chancery queue dead show 0197…")]
    Show {
        /// The job that died
        job: Uuid,
    },
    /// Set a dead letter aside without running it again; prints its new state
    #[command(after_help = "\
The letter stays; it only counts as settled.

Example:
  $ chancery queue dead dismiss 0197… --reason 'the order was cancelled' --as bob")]
    Dismiss(Person),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only letters of this executor class
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Also those that are settled
    #[arg(long)]
    all: bool,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

pub(super) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::List(args) => list(context, args).await,
        Command::Show { job } => show(context, job).await,
        Command::Dismiss(args) => {
            let acting = args.acting(context, &people::DISMISSING_CLASSES).await?;
            let Acting { store, actor, class } = &acting;
            let report = people::dismiss(store, actor, class, args.id, &args.reason).await?;
            moved(context, &report)
        }
    }
}

async fn list(context: &mut Context, args: List) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let state = (!args.all).then(|| "dead_letter".to_owned());
    let filter = JobFilter { executor_class: args.class, state, limit: args.limit };
    let letters = store.dead_letters(&filter).await?;
    if letters.is_empty() {
        context.out.note("there are no such dead letters");
    }
    context.out.answer(&letters, || {
        table(
            &["job", "class", "kind", "state", "died", "tries", "of", "reason"],
            letters.iter().map(listed),
        )
    })?;
    Ok(Outcome::Done)
}

fn listed(letter: &DeadLetterRow) -> Vec<String> {
    vec![
        letter.job_id.to_string(),
        letter.executor_class.clone(),
        letter.job_kind.clone(),
        letter.state.clone(),
        time(&letter.died_at),
        letter.attempts.to_string(),
        letter.classification.clone(),
        letter.reason.clone(),
    ]
}

async fn show(context: &mut Context, job_id: Uuid) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let Some(letter) = store.dead_letter(job_id).await? else {
        let facts = json!({ "job_ids": [job_id], "why": "not_a_dead_letter" });
        return Err(refusal(&store, Code::RE015, facts).await);
    };
    context.out.answer(&letter, || {
        let head = pairs(&[
            ("job", letter.job_id.to_string()),
            ("class", letter.executor_class.clone()),
            ("kind", letter.job_kind.clone()),
            ("state", letter.state.clone()),
            ("died", time(&letter.died_at)),
            ("of", letter.classification.clone()),
            ("reason", letter.reason.clone()),
            ("tries", letter.attempts.to_string()),
            ("key", letter.idempotency_key.clone()),
            ("payload", letter.payload.to_string()),
            ("trace", letter.trace_id.clone()),
        ]);
        format!("{head}\n\n{}", failures(&letter.story["failures"]))
    })?;
    Ok(Outcome::Done)
}
