//! Waiting for processes, which announce nothing we could listen to.

use std::thread;
use std::time::{Duration, Instant};

use super::error::Error;

const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Looks until there is an answer; `None` when the limit has passed without one.
pub(super) fn until<T>(
    limit: Duration,
    mut look: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(answer) = look()? {
            return Ok(Some(answer));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::park_timeout(BETWEEN_LOOKS);
    }
}
