//! How much one principal may ask, and one address guess.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::problem::{Fault, Problem};

const MINUTE: Duration = Duration::from_secs(60);
/// From so many on, those are forgotten whose minute is over.
const MANY: usize = 10_000;

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

    /// Lets one more through, or says when to come again.
    pub(crate) fn admit(&self, who: &str) -> Result<(), Problem> {
        self.admit_at(who, Instant::now()).map_err(|left| Problem::Later {
            fault: Fault::TooMany,
            detail: format!("at most {} in a minute", self.a_minute),
            seconds: left.as_secs().max(1),
        })
    }

    /// Whether the next one of these would be one too many; counts nothing.
    pub(crate) fn is_used_up(&self, who: &str) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .get(who)
            .is_some_and(|(since, count)| since.elapsed() < MINUTE && *count >= self.a_minute)
    }

    fn admit_at(&self, who: &str, now: Instant) -> Result<(), Duration> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() > MANY {
            counts.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
        }
        let (since, count) = counts.entry(who.to_owned()).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count <= self.a_minute { Ok(()) } else { Err(MINUTE - now.duration_since(*since)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_does_not_use_up_what_another_has() {
        let limits = Limits::new(2);
        let now = Instant::now();
        let at = |who: &str, seconds: u64| limits.admit_at(who, now + Duration::from_secs(seconds));
        assert_eq!((at("amy", 0), at("amy", 10)), (Ok(()), Ok(())));
        assert_eq!(at("amy", 20), Err(Duration::from_secs(40)), "until the minute is over");
        assert_eq!(at("bob", 20), Ok(()));
        assert_eq!(at("amy", 59), Err(Duration::from_secs(1)));
        assert_eq!(at("amy", 60), Ok(()), "a new minute");
    }
}
