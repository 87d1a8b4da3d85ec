//! Somebody who acts, in a class and behind the login that may act for it.

use chancery_engine::identity::{acting_class, login_of};
use chancery_engine::run::Actor;
use chancery_store::{Role, Store};

use crate::Context;
use crate::failure::Failure;
use crate::session::Session;

/// The principal at work.
#[derive(Debug)]
pub(crate) struct Acting {
    pub(crate) store: Store,
    pub(crate) actor: Actor,
    pub(crate) class: String,
}

impl Acting {
    /// The class is the one asked for, or the only one that fits; the login is the class's, where it has such a door. Otherwise it
    /// is that of people and loops, and the database says what is wrong.
    pub(crate) async fn open(
        context: &Context,
        class: Option<&str>,
        that_matter: &[&str],
        doors: &[Role],
    ) -> Result<Self, Failure> {
        let principal = context.config.acting()?;
        let session = Session::open(context).await?;
        let class = match class {
            Some(class) => class.to_owned(),
            None => acting_class(&reader(&session, doors).await?, principal, that_matter).await?,
        };
        let role = Some(login_of(&class)).filter(|role| doors.contains(role)).unwrap_or(Role::App);
        let store = session.store(role).await?;
        let actor = Actor::open(&store, &context.config.keystore(), principal).await?;
        Ok(Self { store, actor, class })
    }
}

/// A login to look with. A machine of the cutter has its own and need not have that of people and loops.
async fn reader(session: &Session, doors: &[Role]) -> Result<Store, Failure> {
    let first = session.store(Role::App).await;
    if first.is_ok() {
        return first;
    }
    for role in doors {
        if let Ok(store) = session.store(*role).await {
            return Ok(store);
        }
    }
    first
}
