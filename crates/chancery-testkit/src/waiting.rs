//! Waiting for a fact of the database instead of for time to pass.

use std::time::{Duration, Instant};

/// Asks until the answer is yes.
///
/// # Panics
/// After 20 seconds: then the fact will not come.
pub async fn until<F, Fut>(what: &str, mut ask: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let deadline = Instant::now() + Duration::from_secs(20);
    while !ask().await {
        assert!(Instant::now() < deadline, "gave up waiting until {what}");
        tokio::task::yield_now().await;
    }
}
