//! The loops of the product, a line each.

use std::pin::Pin;
use std::time::Duration;

use chancery_store::{Error, Store};

use super::{SERVICE, workflow};

/// What a pass did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// In a few words, for whoever looks at the loop.
    pub detail: String,
    /// There is more to do: the next pass follows at once.
    pub more: bool,
}

impl Done {
    pub(super) fn now(detail: String) -> Self {
        Self { detail, more: false }
    }
}

/// A pass under way.
pub type Pass<'a> = Pin<Box<dyn Future<Output = Result<Done, Error>> + Send + 'a>>;

/// A loop. Its pass must be safe without a leader: two processes may do it at once.
#[derive(Debug, Clone, Copy)]
pub struct Loop {
    pub name: &'static str,
    /// One process at a time does it; otherwise every process does.
    pub led: bool,
    /// From the end of a pass to the next one.
    pub every: Duration,
    pub pass: for<'a> fn(&'a Store) -> Pass<'a>,
}

/// What only carries on what was decided before, so that reading goes on: positions of events, partitions, figures.
const READING: &[&str] = &["sequencer", "partitions", "event_lag"];

impl Loop {
    /// Whether its pass decides anything by the rules in the database.
    pub fn decides(&self) -> bool {
        !READING.contains(&self.name)
    }
}

/// Every loop. To add one, write its pass below and its line here.
pub const LOOPS: &[Loop] = &[
    led("sequencer", millis(150), |store| Box::pin(sequence(store))),
    led("lease_expiry", millis(1000), |store| Box::pin(expire(store))),
    led("partitions", hours(1), |store| Box::pin(partitions(store))),
    led("retention", hours(1), |store| Box::pin(retention(store))),
    led("silent_workers", millis(5_000), |store| Box::pin(silent(store))),
    led("event_lag", millis(60_000), |store| Box::pin(lag(store))),
    led("pending_events", millis(10_000), |store| Box::pin(pending(store))),
    led("summaries", millis(60_000), |store| Box::pin(summaries(store))),
    led("birth_watchdog", millis(5_000), |store| Box::pin(watchdog(store))),
    led("birth_handoff", millis(1_000), |store| Box::pin(handoff(store))),
    led("timers", millis(1_000), |store| Box::pin(workflow::timers(store))),
    // Every host does it. A turn takes the lock of its run and steps aside where somebody has it, so hosts share the runs between
    // them; and when one is killed, the others do not wait for its lease to run out.
    Loop {
        name: "mow",
        led: false,
        every: millis(100),
        pass: |store| Box::pin(workflow::mow(store)),
    },
];

/// A loop that one process at a time does.
const fn led(name: &'static str, every: Duration, pass: for<'a> fn(&'a Store) -> Pass<'a>) -> Loop {
    Loop { name, led: true, every, pass }
}

/// So many events get their position in one pass; a bound for the length of its transaction.
const EVENTS: i32 = 10_000;

/// So many events that could not be emitted are tried again in one pass.
const PENDING: i32 = 200;

/// So many permits are expired in one pass.
const PERMITS: i32 = 500;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

/// EVT-2: every committed event gets its position.
async fn sequence(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_sequence_events(EVENTS).await?;
    let detail = format!("{} stamped, up to {}", pass.stamped, pass.last_position);
    Ok(Done { detail, more: pass.more })
}

/// EVT-4: a lease that ran out is noticed also where no worker asks for jobs.
async fn expire(store: &Store) -> Result<Done, Error> {
    Ok(Done::now(format!("{} lanes looked at", store.fn_leases_expire(SERVICE).await?)))
}

/// Partitions of the days ahead are there before anybody needs them.
async fn partitions(store: &Store) -> Result<Done, Error> {
    Ok(Done::now(format!("{} partitions made", store.fn_partitions_prepare(SERVICE).await?)))
}

/// What is older than the settings say goes, a partition at a time.
async fn retention(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_retention_apply().await?;
    for kept in &pass.kept {
        tracing::info!(kept.partition, kept.why, "an old partition is still needed");
    }
    let detail = format!("{} partitions dropped, {} kept", pass.dropped.len(), pass.kept.len());
    Ok(Done::now(detail))
}

/// EVT-3: a worker that says nothing for too long is a finding.
async fn silent(store: &Store) -> Result<Done, Error> {
    let check = store.fn_silent_check(SERVICE).await?;
    Ok(Done::now(format!("{} workers fell silent", check.silent.len())))
}

/// EVT-5: the lag of the last minute joins the series, and a breach is a finding.
async fn lag(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_event_lag_record(SERVICE).await?;
    Ok(Done::now(format!(
        "{} over their threshold, {} healed",
        pass.breached.len(),
        pass.healed.len()
    )))
}

/// What could not be emitted is tried again.
async fn pending(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_event_pending_retry(PENDING, SERVICE).await?;
    Ok(Done::now(format!(
        "{} emitted, {} wait, {} given up",
        pass.emitted, pass.waiting, pass.dead
    )))
}

/// UIG-3: what is to be said about categories and executor classes is said, and a summary that nothing explains is a finding.
async fn summaries(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_summaries_run(SERVICE).await?;
    Ok(Done::now(format!("{} summaries written, {} unexplained", pass.written, pass.found)))
}

/// ADM-6: permits that nobody used in time are expired, and a gate that is not in place is a finding.
async fn watchdog(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_permit_watchdog(PERMITS, SERVICE).await?;
    Ok(Done { detail: format!("{} permits expired", pass.expired), more: pass.more })
}

/// ADM-7: what was born is handed to governance, each birth once.
async fn handoff(store: &Store) -> Result<Done, Error> {
    let pass = store.fn_birth_handoff(SERVICE).await?;
    let detail = format!("{} births handed over, {} wait", pass.handed, pass.waiting);
    Ok(Done { detail, more: pass.more })
}
