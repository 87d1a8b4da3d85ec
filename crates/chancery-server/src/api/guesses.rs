//! Unknown credentials: so many from one address in a minute are looked up in the database, and no more.
//!
//! Whoever shares an address with somebody who guesses (a proxy, an office) goes on working: a credential that was good a moment ago is looked
//! up as always. What is remembered here opens nothing; the database says whose a credential is, with every request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::limits::Limits;
use crate::problem::Problem;

/// So many unknown credentials from one address in a minute.
const UNKNOWN_PER_MINUTE: u32 = 60;
/// A credential that was good is taken for one that may be good for so long.
const GOOD_FOR: Duration = Duration::from_secs(15 * 60);
/// From so many on, those are forgotten that are older.
const MAX_REMEMBERED: usize = 10_000;

/// SHA-256 of a token or a cookie.
pub(crate) type Digest = [u8; 32];

#[derive(Debug)]
pub(crate) struct Guesses {
    unknown: Limits,
    good: Mutex<HashMap<Digest, Instant>>,
}

impl Default for Guesses {
    fn default() -> Self {
        Self { unknown: Limits::new(UNKNOWN_PER_MINUTE), good: Mutex::default() }
    }
}

impl Guesses {
    /// Lets the database be asked about a credential, or says when to come again.
    pub(crate) fn admit(&self, peer: Option<IpAddr>, digest: &Digest) -> Result<(), Problem> {
        // Every socket has a peer.
        let Some(from) = peer.map(|peer| peer.to_string()) else { return Ok(()) };
        if self.unknown.is_used_up(&from) && !self.was_good(digest) {
            return self.unknown.admit(&from);
        }
        Ok(())
    }

    /// The database knew it.
    pub(crate) fn was_known(&self, digest: Digest) {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= MAX_REMEMBERED {
            good.retain(|_, at| at.elapsed() < GOOD_FOR);
        }
        if good.len() < MAX_REMEMBERED {
            good.insert(digest, Instant::now());
        }
    }

    /// The database did not know it.
    pub(crate) fn was_unknown(&self, peer: Option<IpAddr>) {
        if let Some(from) = peer {
            // Only counted: what came too often is refused before the next lookup.
            let _ = self.unknown.admit(&from.to_string());
        }
    }

    fn was_good(&self, digest: &Digest) -> bool {
        let good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        good.get(digest).is_some_and(|at| at.elapsed() < GOOD_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-2: who guesses is stopped before the database is asked, and nobody else is.
    #[test]
    fn guesses_are_bounded_by_address_and_what_was_good_is_looked_up() {
        let guesses = Guesses::default();
        let (eve, amy) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        guesses.was_known([7; 32]);
        for n in 0..UNKNOWN_PER_MINUTE {
            assert!(guesses.admit(eve, &[0; 32]).is_ok(), "{n}");
            guesses.was_unknown(eve);
        }
        assert!(guesses.admit(eve, &[0; 32]).is_err(), "a guess too many");
        assert!(guesses.admit(eve, &[7; 32]).is_ok(), "good a moment ago, from the same address");
        assert!(guesses.admit(amy, &[0; 32]).is_ok(), "another address");
    }
}
