//! The loops of the product: what must be done again and again, most of it by one process at a time.
//!
//! Who leads a loop is a lease in the database (`queue.loop_lease`), decided by the database's time. A leader renews it while it
//! works. One that is killed or stopped does not, and another process leads when the time is over: within eight seconds, and at
//! once when the leader ends in good order. A session lock would outlive a process that is stopped and not dead.
//!
//! The lease saves work and nothing else. Every pass is safe when two processes do it at once, since a leader that stands still
//! between its look at the lease and its pass would do just that.

mod board;
mod table;
mod workflow;

pub use board::{Board, LoopState, Tick};
pub use table::{Done, LOOPS, Loop, Pass};

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_store::{Error, Store};
use rand::Rng as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::governance::Pulse;
use crate::rule_watch::RuleWatch;

/// The principal as which the loops act. The release brings it along.
pub const SERVICE: &str = "chancery";

/// How long a leader leads without saying so again, in seconds.
const LEASE_SECONDS: i32 = 6;
const LEASE: Duration = Duration::from_secs(6);
/// A leader renews its lease so often, and others ask so often whether it is free.
const ASK: Duration = Duration::from_secs(2);
/// A leader says in the heartbeats that its loop lives, so often.
const BEAT: Duration = Duration::from_secs(5);
/// The first pause after an error, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// So long an ending loop tries to give its lease up.
const FAREWELL: Duration = Duration::from_secs(2);

/// Loops at work.
#[derive(Debug)]
pub struct Loops {
    board: Arc<Board>,
    tasks: JoinSet<()>,
}

impl Loops {
    /// Starts loops. They end when `stop` becomes true, or its sender is gone.
    pub fn start(
        loops: &'static [Loop],
        store: &Store,
        holder: &str,
        stop: &watch::Receiver<bool>,
    ) -> Self {
        Self::watched(loops, store, holder, stop, &RuleWatch::trusting())
    }

    /// The same; what decides anything makes no pass while the rules in the database are not those of this release.
    pub fn watched(
        loops: &'static [Loop],
        store: &Store,
        holder: &str,
        stop: &watch::Receiver<bool>,
        rules: &RuleWatch,
    ) -> Self {
        let board = Arc::new(Board::new(loops.iter().map(|one| one.name)));
        let mut tasks = JoinSet::new();
        for &one in loops {
            let runner = Runner {
                it: one,
                store: store.clone(),
                holder: holder.to_owned(),
                pulse: Pulse::new(store.clone(), "loop", one.name, SERVICE),
                beat_at: Instant::now(),
                board: Arc::clone(&board),
                leads_until: None,
                ask_at: Instant::now(),
                pass_at: Instant::now(),
                rules: rules.clone(),
            };
            tasks.spawn(runner.run(stop.clone()));
        }
        Self { board, tasks }
    }

    /// What they say of themselves.
    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.board)
    }

    /// Waits until all have ended: each finishes its pass and gives its lease up.
    pub async fn ended(mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a loop broke down");
            }
        }
    }
}

struct Runner {
    it: Loop,
    store: Store,
    holder: String,
    /// The loop's sign of life, whoever leads it.
    pulse: Pulse,
    beat_at: Instant,
    board: Arc<Board>,
    /// By our own clock, counted from before we asked: never later than the database's.
    leads_until: Option<Instant>,
    ask_at: Instant,
    pass_at: Instant,
    rules: RuleWatch,
}

impl Runner {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut failures = 0;
        while !*stop.borrow() {
            let pause = match self.turn().await {
                Ok(tick) => {
                    failures = 0;
                    if let Some(tick) = tick {
                        self.tick(tick);
                    }
                    self.until_next()
                }
                Err(error) => {
                    let pause = back_off(failures);
                    failures = failures.saturating_add(1);
                    self.tick(Tick { ok: false, leads: self.leads(), detail: error.to_string() });
                    pause
                }
            };
            tokio::select! {
                // An error means that nobody can ask us to end any more.
                _ = stop.wait_for(|&asked| asked) => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.give_up().await;
    }

    /// Asks for the lease when it is time to, and does a pass when it is time to.
    async fn turn(&mut self) -> Result<Option<Tick>, Error> {
        let mut tick = None;
        if !self.it.led {
            // Nobody to ask.
        } else if self.ask_at <= Instant::now() || (self.leads_until.is_some() && !self.leads()) {
            let led = self.leads();
            let asked = Instant::now();
            let lease = self
                .store
                .fn_loop_lease(self.it.name, &self.holder, LEASE_SECONDS, SERVICE)
                .await?;
            self.leads_until = lease.held.then(|| asked + LEASE);
            self.ask_at = asked + ASK;
            if lease.held && !led {
                // What its last leader left is done at once.
                self.pass_at = asked;
            }
            let detail = if lease.held { "leads" } else { "another process leads" };
            tick = Some(Tick { ok: true, leads: lease.held, detail: detail.to_owned() });
        }
        if let Some(objection) = self.rules.objection().filter(|_| self.it.decides()) {
            // It stays the leader and alive: another host has the same database.
            self.pass_at = Instant::now() + ASK;
            let detail = format!("waits: {objection}");
            tick = Some(Tick { ok: true, leads: self.leads(), detail });
        } else if self.leads() && self.pass_at <= Instant::now() {
            let done = (self.it.pass)(&self.store).await?;
            self.pass_at = Instant::now() + if done.more { Duration::ZERO } else { self.it.every };
            tick = Some(Tick { ok: true, leads: true, detail: done.detail });
        }
        if let Some(Tick { leads: true, detail, .. }) = &tick
            && self.beat_at <= Instant::now()
        {
            self.pulse.beat(true, &json!({ "holder": self.holder, "detail": detail })).await?;
            self.beat_at = Instant::now() + BEAT;
        }
        Ok(tick)
    }

    fn leads(&self) -> bool {
        !self.it.led || self.leads_until.is_some_and(|until| Instant::now() < until)
    }

    fn until_next(&self) -> Duration {
        let next = match (self.it.led, self.leads()) {
            (false, _) => self.pass_at,
            (true, true) => self.ask_at.min(self.pass_at),
            (true, false) => self.ask_at,
        };
        next.saturating_duration_since(Instant::now())
    }

    /// The one place that every tick goes through.
    fn tick(&self, tick: Tick) {
        let Tick { ok, detail, .. } = &tick;
        let (ok, detail) = (*ok, detail.clone());
        if !self.board.tick(self.it.name, tick) {
            return;
        }
        if ok {
            tracing::info!("all loops are at work");
        } else {
            tracing::warn!(loop.name = self.it.name, "{detail}; trying again");
        }
    }

    async fn give_up(&self) {
        if self.it.led && self.leads_until.is_none() {
            return;
        }
        let end = async {
            if self.leads() {
                // Another host that does the loop as well is missed again from its next beat on.
                self.pulse.end().await?;
            }
            if !self.it.led {
                return Ok(());
            }
            self.store.fn_loop_lease(self.it.name, &self.holder, 0, SERVICE).await.map(drop)
        };
        if !matches!(tokio::time::timeout(FAREWELL, end).await, Ok(Ok(()))) {
            // It runs out by itself.
            tracing::debug!(loop.name = self.it.name, "the lease could not be given up");
        }
    }
}

/// Longer with every failure, and never the same for two: those who failed together shall not come back together.
fn back_off(failures: u32) -> Duration {
    let (first, longest) = PAUSES;
    let pause = first.saturating_mul(1 << failures.min(8)).min(longest);
    pause.mul_f64(rand::thread_rng().gen_range(0.5..1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_differ() {
        for failures in 0..40 {
            let pause = back_off(failures);
            assert!(pause >= PAUSES.0 / 2 && pause <= PAUSES.1, "{failures}: {pause:?}");
        }
        assert!(back_off(8) >= PAUSES.1 / 2);
        assert_ne!(back_off(8), back_off(8), "two that failed together");
    }

    /// A loop's name is a word that the database takes, and stands once.
    #[test]
    fn loops_have_names_of_their_own() {
        let mut names: Vec<_> = LOOPS.iter().map(|one| one.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LOOPS.len());
        let is_word = |name: &&str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(names.iter().all(is_word), "{names:?}");
    }
}
