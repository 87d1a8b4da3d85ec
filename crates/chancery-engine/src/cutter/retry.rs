//! What fails for a passing reason is tried again, so often and so slowly as the settings say.

use std::time::Duration;

use chancery_model::refusal::Code;
use chancery_store::Store;
use serde_json::Value;

use crate::Error;

/// A chain that moved means that another process of the same signer got its work done; that is no failure to be counted. The
/// bound is for a chain that would move for ever.
const CHAIN_MOVES: u32 = 200;

/// One phase's attempts.
pub(crate) struct Retry<'a> {
    store: &'a Store,
    made: u32,
    chain_moves: u32,
}

/// Defaults of `cutter.retry.*`, for when the settings cannot be read either.
const MAX_ATTEMPTS: u32 = 3;
const BACKOFF: Duration = Duration::from_millis(100);

impl<'a> Retry<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store, made: 0, chain_moves: 0 }
    }

    /// Returns when the phase may be tried again.
    ///
    /// # Errors
    /// The error itself when it will not pass, `Exhausted` when it was tried often enough.
    pub(crate) async fn or_give_up(&mut self, error: Error) -> Result<(), Error> {
        if is_chain_moved(&error) && self.chain_moves < CHAIN_MOVES {
            self.chain_moves += 1;
            return Ok(());
        }
        if !is_passing(&error) {
            return Err(error);
        }
        self.made += 1;
        let setting = async |key: &str| {
            let value = self.store.setting(key).await.ok().flatten();
            value.as_ref().and_then(Value::as_u64)
        };
        let max_attempts = setting("cutter.retry.max_attempts")
            .await
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(MAX_ATTEMPTS);
        if self.made >= max_attempts {
            return Err(Error::Exhausted {
                attempts: self.made,
                escalation: None,
                last: Box::new(error),
            });
        }
        let backoff =
            setting("cutter.retry.backoff_ms").await.map_or(BACKOFF, Duration::from_millis);
        let doubled = 1_u32.checked_shl(self.made - 1).unwrap_or(u32::MAX);
        tracing::debug!(attempt = self.made, %error, "tried again after a pause");
        tokio::time::sleep(backoff.saturating_mul(doubled)).await;
        Ok(())
    }
}

fn is_chain_moved(error: &Error) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == Code::RC009)
}

fn is_passing(error: &Error) -> bool {
    is_chain_moved(error)
        // The tables changed between the verifier's look and its verdict; the next look sees them.
        || error.refusal().is_some_and(|refusal| refusal.code == Code::RC013)
        || matches!(
            error,
            Error::Store(chancery_store::Error::Conflict(_) | chancery_store::Error::Away(_))
        )
}
