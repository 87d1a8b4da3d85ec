//! What the loops of this process last said of themselves.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

/// A loop that said nothing for so long is not at work.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a loop says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    pub ok: bool,
    /// Whether this process leads the loop.
    pub leads: bool,
    pub detail: String,
}

/// A loop as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopState {
    #[serde(rename = "loop")]
    pub name: &'static str,
    /// It ticked well, and lately.
    pub ok: bool,
    pub leads: bool,
    pub detail: String,
    /// Since its last tick; since the start when there was none.
    pub silent_ms: u128,
    /// How often it ticked.
    pub ticks: u64,
}

/// The last tick of every loop.
#[derive(Debug)]
pub struct Board {
    loops: Mutex<BTreeMap<&'static str, (Tick, Instant, u64)>>,
}

impl Board {
    /// A board for these loops, none of which has ticked yet.
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        let silent = Tick { ok: false, leads: false, detail: "has not ticked yet".to_owned() };
        let now = Instant::now();
        let loops = names.into_iter().map(|name| (name, (silent.clone(), now, 0))).collect();
        Self { loops: Mutex::new(loops) }
    }

    /// Notes a tick. Answers whether it is news: trouble that no loop told of, or the end of all trouble.
    pub(super) fn tick(&self, name: &'static str, tick: Tick) -> bool {
        let mut loops = self.lock();
        let was_well = loops.values().all(|(tick, _, _)| tick.ok);
        let known = loops.values().any(|(other, _, _)| !other.ok && other.detail == tick.detail);
        let ok = tick.ok;
        let ticks = loops.get(name).map_or(0, |(_, _, ticks)| *ticks);
        loops.insert(name, (tick, Instant::now(), ticks + 1));
        if ok { !was_well && loops.values().all(|(tick, _, _)| tick.ok) } else { !known }
    }

    /// Every loop as it stands.
    pub fn loops(&self) -> Vec<LoopState> {
        let states = self.lock();
        let state = |(name, (tick, at, ticks)): (&&'static str, &(Tick, Instant, u64))| {
            let silent = at.elapsed();
            LoopState {
                name,
                ok: tick.ok && silent < PATIENCE,
                leads: tick.leads,
                detail: tick.detail.clone(),
                silent_ms: silent.as_millis(),
                ticks: *ticks,
            }
        };
        states.iter().map(state).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, (Tick, Instant, u64)>> {
        // Every change is one insertion: a board that somebody panicked over is whole.
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(ok: bool, detail: &str) -> Tick {
        Tick { ok, leads: true, detail: detail.to_owned() }
    }

    /// Trouble that all loops share is told once, and its end once.
    #[test]
    fn the_same_trouble_is_news_once() {
        let board = Board::new(["a", "b"]);
        assert!(board.loops().iter().all(|state| !state.ok), "nobody has ticked");
        assert!(!board.tick("a", tick(true, "done")), "b is still to come");
        assert!(board.tick("b", tick(true, "done")), "all are well");
        assert!(!board.tick("b", tick(true, "done")), "as before");
        assert!(board.tick("a", tick(false, "away")));
        assert!(!board.tick("b", tick(false, "away")));
        assert!(board.tick("b", tick(false, "refused")), "another trouble");
        assert!(!board.tick("a", tick(true, "done")));
        assert!(board.tick("b", tick(true, "done")), "all are well again");
    }
}
