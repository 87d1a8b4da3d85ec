//! How much of a long test a run does, and from where it draws.
//!
//! `make test` does a slice of each, drawn from the commit it is run on, so that the slices of many commits come to the whole;
//! `make test-soak` does all of it. Each number has a variable of its own, `CHANCERY_TEST_…`; `CHANCERY_TEST_SEED` repeats a run.

use std::str::FromStr;

/// What the variable says, or else the slice.
///
/// # Panics
/// When the variable says something else than a number.
pub fn amount<T: FromStr>(variable: &str, slice: T) -> T {
    asked(variable).map_or(slice, |text| number(variable, &text))
}

/// What the variable says, where it says something.
#[expect(clippy::disallowed_methods, reason = "how much a test does is the runner's to say")]
pub fn asked(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// The seed of this run, or else the test's own.
///
/// # Panics
/// When `CHANCERY_TEST_SEED` is no number.
pub fn seed(own: u64) -> u64 {
    amount("CHANCERY_TEST_SEED", own)
}

fn number<T: FromStr>(variable: &str, text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}"))
}
