//! Events on their way: the sequencer gives every committed one its position, the relay hands it on, a worker is woken by it.

pub mod relay;
pub mod wake;

mod nats;

pub use nats::{Servers, Trouble, TroubleKind};

use std::time::Duration;

use chancery_store::Store;
use tokio::sync::watch;

use crate::Error;

/// How many events one pass may stamp.
const PASS_LIMIT: i32 = 10_000;

/// Stamps what is committed now, in as many passes as it takes. Returns the last position.
///
/// # Errors
/// When the database does not answer.
pub async fn sequence_now(store: &Store) -> Result<i64, Error> {
    loop {
        let pass = store.fn_sequence_events(PASS_LIMIT).await?;
        if !pass.more {
            return Ok(pass.last_position);
        }
    }
}

/// The sequencer as a loop. Any number may run: the cursor's row lets one pass through at a time.
#[derive(Debug)]
pub struct Sequencer {
    store: Store,
    idle: Duration,
}

impl Sequencer {
    /// A loop that looks again after `idle` when there was nothing to do.
    pub fn new(store: Store, idle: Duration) -> Self {
        Self { store, idle }
    }

    /// Runs until `shutdown` turns true. A database that is away is waited for: nothing is lost by it.
    ///
    /// # Errors
    /// What repeating cannot mend.
    pub async fn run(self, mut shutdown: watch::Receiver<bool>) -> Result<(), Error> {
        while !*shutdown.borrow() {
            let pause = match self.store.fn_sequence_events(PASS_LIMIT).await {
                Ok(pass) if pass.more => continue,
                Ok(_) => self.idle,
                Err(
                    error @ (chancery_store::Error::Away(_) | chancery_store::Error::Conflict(_)),
                ) => {
                    tracing::warn!(%error, "the sequencer waits");
                    self.idle.max(Duration::from_millis(200))
                }
                Err(error) => return Err(error.into()),
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = shutdown.changed() => if changed.is_err() { break },
            }
        }
        Ok(())
    }
}
