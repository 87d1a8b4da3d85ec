//! A person who says something that is signed: what every such command takes.

use chancery_engine::event;
use chancery_engine::run::Actor;
use chancery_engine::workflow::Said;
use chancery_store::fsm::MoveReport;
use chancery_store::{Role, Store};
use clap::Args;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Saying {
    /// Why, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// What stands behind it, such as a document or a ticket [default: the word of who says it]
    #[arg(long, value_name = "REF")]
    audit: Option<String>,
    /// The idempotency key [default: what is said again right away is the same]
    #[arg(long)]
    key: Option<String>,
    /// The actor class to act in, when you hold several that may
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
}

impl Saying {
    pub(crate) fn said(&self) -> Said {
        Said {
            class: self.class.clone(),
            reason: self.reason.clone(),
            audit_ref: self.audit.clone(),
            key: self.key.clone(),
        }
    }
}

/// Who acts, behind the login of people.
pub(crate) async fn speaker(context: &Context) -> Result<(Store, Actor), Failure> {
    let principal = context.config.acting()?;
    let store = reader(context).await?;
    let actor = Actor::open(&store, &context.config.keystore(), principal).await?;
    Ok((store, actor))
}

/// Who only looks.
pub(crate) async fn reader(context: &Context) -> Result<Store, Failure> {
    Session::open(context).await?.store(Role::App).await
}

/// Gives events their positions now rather than when a host next looks. What was done is committed: nothing is lost here.
pub(crate) async fn position_events(store: &Store) {
    if let Err(error) = event::sequence_now(store).await {
        tracing::warn!(%error, "the event has no position yet; it gets one later");
    }
}

/// The word a script wants goes to stdout, what a person wants to know to stderr.
pub(crate) fn told_move(context: &mut Context, report: &MoveReport) -> Result<Outcome, Failure> {
    if !context.out.is_json() {
        let mut facts = vec![format!("{} → {}", report.from.as_deref().unwrap_or("∅"), report.to)];
        facts.extend(report.seq.map(|seq| format!("seq {seq}")));
        facts.extend(report.emitted_event_type.as_ref().map(|event| format!("event {event}")));
        if report.replayed {
            facts.push("done before; nothing was done twice".to_owned());
        }
        context.out.note(&facts.join(" · "));
    }
    context.out.answer(report, || report.to.clone())?;
    Ok(Outcome::Done)
}
