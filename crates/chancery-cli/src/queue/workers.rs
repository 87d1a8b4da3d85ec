//! `chancery queue workers`, `freeze` and `thaw`: who ticks, and the classes that do not recover by themselves for now.

use chancery_engine::queue::people::freezing_class;
use chancery_store::Role;
use clap::Args;
use serde_json::json;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{table, time, yes_no};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Freeze {
    /// The class of workers, as `chancery queue workers` names it
    #[arg(value_name = "WORKERS")]
    workers: String,
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The actor class to act in
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
}

pub(super) async fn list(context: &mut Context) -> Result<Outcome, Failure> {
    let store = Session::open(context).await?.store(Role::App).await?;
    let workers = store.queue_health().await?;
    if workers.is_empty() {
        context.out.note("no worker has ever ticked; start one with `chancery worker`");
    }
    context.out.answer(&workers, || {
        table(
            &["class", "worker", "status", "frozen", "last tick", "silent since"],
            workers.iter().map(|one| {
                vec![
                    one.worker_class.clone(),
                    one.worker.clone(),
                    one.status.clone(),
                    yes_no(one.class_frozen),
                    time(&one.last_tick_at),
                    one.silent_since.as_deref().map(time).unwrap_or_default(),
                ]
            }),
        )
    })?;
    Ok(Outcome::Done)
}

pub(super) async fn set_frozen(
    context: &mut Context,
    args: &Freeze,
    frozen: bool,
) -> Result<Outcome, Failure> {
    let principal = context.config.acting()?.to_owned();
    let store = Session::open(context).await?.store(Role::App).await?;
    let class = match &args.class {
        Some(class) => class.clone(),
        None => freezing_class(&store, &principal).await?,
    };
    store.fn_heartbeat_freeze(&args.workers, frozen, &args.reason, &principal, &class).await?;
    let answer = json!({ "class": args.workers, "frozen": frozen, "reason": args.reason });
    context.out.answer(&answer, || if frozen { "frozen" } else { "thawed" }.to_owned())?;
    Ok(Outcome::Done)
}
