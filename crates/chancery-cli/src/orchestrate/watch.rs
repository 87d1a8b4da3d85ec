//! A run as it goes, for whoever watches.

use std::io::{IsTerminal as _, Stderr, stderr};
use std::time::Duration;

use chancery_engine::orchestrator::{Phase, STATES, Watch};

use super::progress::{Progress, stderr_size};

/// The display of a run on stderr: drawn in place where somebody watches, a line an event otherwise.
pub(super) struct Display {
    progress: Progress<Stderr>,
}

impl Display {
    /// `colour` is whether colours are welcome.
    pub(super) fn new(colour: bool, dumb: bool) -> Self {
        let terminal = stderr().is_terminal() && !dumb;
        let mut progress = Progress::new(stderr(), &STATES, terminal).colour(colour && terminal);
        if let Some((columns, rows)) = stderr_size() {
            progress.resized(columns, rows);
        }
        Self { progress }
    }
}

impl Watch for Display {
    fn standing_at(&mut self, state: &str) {
        self.progress.resumed_at(state);
    }

    fn phase_started(&mut self, phase: Phase, cap: Duration) {
        self.progress.phase_started(phase.name(), Some(cap));
    }

    fn tick(&mut self, elapsed: Duration) {
        if let Some((columns, rows)) = stderr_size() {
            self.progress.resized(columns, rows);
        }
        self.progress.tick(elapsed);
    }

    fn invariant(&mut self, name: &str, holds: bool) {
        self.progress.invariant(name, holds);
    }

    fn phase_passed(&mut self, state: &str, elapsed: Duration) {
        self.progress.phase_passed(state, elapsed);
    }

    fn paused(&mut self, gate: &str) {
        self.progress.paused(gate);
    }

    fn stopped(&mut self, code: &str, reason: &str) {
        self.progress.stopped(code, reason);
    }
}
