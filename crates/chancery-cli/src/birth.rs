//! `chancery birth …`: tables under admission, permits, and what is born with them.

use chancery_engine::admission;
use chancery_engine::identity::acting_class;
use chancery_engine::run::Actor;
use chancery_store::{Role, Store};
use clap::Subcommand;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::session::Session;

mod admit;
mod family;
mod permit;

pub(crate) use admit::{Admit, EXAMPLES as ADMIT_EXAMPLES};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring one object into being: request, permit, insert, handoff; a rehearsal unless you say --commit
    #[command(after_help = ADMIT_EXAMPLES)]
    Admit(Admit),
    /// Put a table under admission, or change its policy
    #[command(after_help = family::PROTECT_EXAMPLES)]
    Protect(family::Protect),
    /// Take a table out of admission; what was born stays on record
    #[command(after_help = "\
A table that is gone is released by the name of its family, as `chancery birth status` shows it.

Example:
  $ chancery birth release shop.film --as alice")]
    Release {
        /// The table, as SQL names it
        table: String,
    },
    /// Show tables under admission, their permits, and what was born without one
    #[command(
        after_help = "Example:\n  $ chancery birth status\n  $ chancery birth status shop.film"
    )]
    Status(family::Status),
    /// Ask whether an object could be born now, check by check
    #[command(after_help = "\
Exits with 3 when a check says no.

Example:
  $ chancery birth check --collection shop.film --code F-1")]
    Check(permit::Check),
    /// Reserve permits for a manifest, all or none
    #[command(after_help = permit::BATCH_EXAMPLES)]
    Batch(permit::Batch),
    /// Take a permit back before it is used; prints its new state
    #[command(after_help = "\
Who asked for a permit does not revoke it.

Example:
  $ chancery birth revoke 0197… --reason 'ordered twice' --as bob")]
    Revoke(permit::Revoke),
    /// Let a family admit births without permits for a while, by somebody else's approval
    #[command(after_help = permit::BREAK_GLASS_EXAMPLES)]
    BreakGlass(permit::BreakGlass),
}

pub(crate) async fn dispatch(context: &mut Context, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Admit(args) => admit::admit(context, args).await,
        Command::Protect(args) => family::protect(context, &args).await,
        Command::Release { table } => family::release(context, &table).await,
        Command::Status(args) => family::status(context, &args).await,
        Command::Check(args) => permit::check(context, &args).await,
        Command::Batch(args) => permit::batch(context, &args).await,
        Command::Revoke(args) => permit::revoke(context, &args).await,
        Command::BreakGlass(args) => permit::break_glass(context, &args).await,
    }
}

/// Somebody who asks for permits.
struct Requester {
    session: Session,
    store: Store,
    actor: Actor,
    class: String,
}

impl Requester {
    /// The class is the one asked for, or one that may ask for permits: which of those makes no difference to a birth.
    async fn open(context: &Context, class: Option<&str>) -> Result<Self, Failure> {
        let principal = context.config.acting()?.to_owned();
        let session = Session::open(context).await?;
        let store = session.store(Role::App).await?;
        let class = match class {
            Some(class) => class.to_owned(),
            None => match admission::requesting_class(&store, &principal).await? {
                Some(class) => class,
                // One that may not: the database says so.
                None => acting_class(&store, &principal, &[]).await?,
            },
        };
        let actor = Actor::open(&store, &context.config.keystore(), &principal).await?;
        Ok(Self { session, store, actor, class })
    }
}
