//! How much one principal may ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts by the minute. One process counts for itself: the bound is there to keep one principal from starving the others.
#[derive(Debug)]
pub(crate) struct Limits {
    a_minute: u32,
    counts: Mutex<HashMap<String, (Instant, u32)>>,
}

impl Limits {
    pub(crate) fn new(a_minute: u32) -> Self {
        Self { a_minute, counts: Mutex::default() }
    }

    /// Whether one more is within the bound.
    pub(crate) fn admits(&self, who: &str) -> bool {
        const MINUTE: Duration = Duration::from_secs(60);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if counts.len() > 10_000 {
            counts.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
        }
        let count = counts.entry(who.to_owned()).or_insert((now, 0));
        if now.duration_since(count.0) >= MINUTE {
            *count = (now, 0);
        }
        count.1 = count.1.saturating_add(1);
        count.1 <= self.a_minute
    }
}
