//! Waiting for a fact instead of for time to pass.
//!
//! Between two questions there is a pause. Without it everybody who waits keeps a core busy, and the database with it, which the tests
//! beside them then lack.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two questions.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a fact may take to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until the answer is yes.
///
/// # Panics
/// After 20 seconds: then the fact will not come.
pub async fn until<F, Fut>(what: &str, mut ask: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let deadline = Instant::now() + PATIENCE;
    while !ask().await {
        assert!(Instant::now() < deadline, "gave up waiting until {what}");
        pause().await;
    }
}

/// The pause between two questions.
pub async fn pause() {
    tokio::time::sleep(POLL_INTERVAL).await;
}

/// The pause between two questions of a test that is not asynchronous.
pub fn pause_thread() {
    thread::sleep(POLL_INTERVAL);
}

/// Asks until there is an answer, in a test that is not asynchronous. Says how long that took.
///
/// # Panics
/// When it took longer than this.
pub fn until_found<T>(
    what: &str,
    longest: Duration,
    mut ask: impl FnMut() -> Option<T>,
) -> (T, Duration) {
    let begun = Instant::now();
    loop {
        if let Some(found) = ask() {
            return (found, begun.elapsed());
        }
        assert!(begun.elapsed() < longest, "gave up waiting until {what}");
        pause_thread();
    }
}
