//! SWEEP: what was marked or deferred comes before the review authority.

use chancery_store::Store;
use chancery_store::cutter::SweepReport;
use uuid::Uuid;

use super::held_class;
use super::retry::Retry;
use crate::Error;

/// Makes one pass over the backlog. `trigger` is `manual` or `timer`.
///
/// # Errors
/// The database's refusal; a service holds the class, because a sweep decides nothing and is not signed.
pub async fn sweep(
    store: &Store,
    principal: &str,
    trigger: &str,
    limit: Option<i32>,
) -> Result<SweepReport, Error> {
    let class = held_class(store, principal, &["executor_dot991", "system"]).await?;
    // One id for all attempts: a pass whose answer was lost is not made again.
    let sweep_id = Uuid::now_v7();
    let mut retry = Retry::new(store);
    loop {
        match store.fn_sweep(sweep_id, &class, principal, trigger, limit).await {
            Ok(report) => return Ok(report),
            Err(error) => retry.or_give_up(error.into()).await?,
        }
    }
}
