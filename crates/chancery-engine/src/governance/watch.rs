//! One round of the watch: silent workers, lag, events that wait.

use chancery_store::Store;
use chancery_store::governance::{LagRecorded, PendingRetried, SilentCheck};
use serde::Serialize;

use crate::Error;

/// How many pending events one round tries.
const PENDING_LIMIT: i32 = 200;

/// What a round saw and did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub heartbeats: SilentCheck,
    pub lag: LagRecorded,
    pub pending: PendingRetried,
}

/// Looks at everything once. Any number may run at a time: each part takes its rows or passes them by.
///
/// # Errors
/// The database's refusal, or that it does not answer. What was done before the error stays done.
pub async fn watch(store: &Store, principal: &str) -> Result<Seen, Error> {
    Ok(Seen {
        heartbeats: store.fn_silent_check(principal).await?,
        lag: store.fn_event_lag_record(principal).await?,
        pending: store.fn_event_pending_retry(PENDING_LIMIT, principal).await?,
    })
}
