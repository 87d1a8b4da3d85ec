//! A run as it goes, for whoever watches.

use std::time::Duration;

use chancery_engine::orchestrator::{Phase, Watch};

use crate::output::Out;

/// One line an event, on stderr.
#[derive(Debug)]
pub(super) struct Lines {
    out: Out,
}

impl Lines {
    pub(super) fn new(out: &Out) -> Self {
        Self { out: out.clone() }
    }

    pub(super) fn finish(&self) {}
}

impl Watch for Lines {
    fn phase_started(&mut self, phase: Phase, cap: Duration) {
        self.out.note(&format!("{} … (at most {} s)", phase.name(), cap.as_secs()));
    }

    fn invariant(&mut self, name: &str, holds: bool) {
        self.out.note(&format!("  {} {name}", if holds { "holds" } else { "FAILS" }));
    }

    fn phase_passed(&mut self, state: &str, elapsed: Duration) {
        self.out.note(&format!("{state} after {} ms", elapsed.as_millis()));
    }

    fn paused(&mut self, gate: &str) {
        self.out.note(&format!("paused at {gate}"));
    }

    fn stopped(&mut self, code: &str, reason: &str) {
        self.out.note(&format!("{code}: {reason}"));
    }
}
