//! Events on their way: the sequencer gives every committed one its position, the relay hands it on, a worker is woken by it.

pub mod relay;
pub mod wake;

mod nats;

pub use nats::{Servers, Trouble, TroubleKind};

use chancery_store::Store;

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
