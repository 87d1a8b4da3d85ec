//! What is measured: a queue that can be installed, filled and drained.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use chancery_store::Target;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio::sync::Notify;

/// Workers at work at the same time, in every system and mode that leaves the choice.
pub(crate) const WORKERS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A statement claims a job, a statement completes it.
    Unbatched,
    /// A statement claims many jobs, a statement completes many.
    Batched,
}

impl Mode {
    pub(crate) const ALL: [Self; 2] = [Self::Unbatched, Self::Batched];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unbatched => "unbatched",
            Self::Batched => "batched",
        }
    }
}

/// A queue under measurement. Connections are opened in `prepare`, so that the clock sees work alone.
pub(crate) trait System {
    const NAME: &'static str;
    /// Asks whether a job is left that is not finished.
    const UNFINISHED: &'static str;
    /// Everything that stands ready to start.
    type Ready;
    /// Everything at work.
    type Running;

    /// What the figure of a mode stands for: settings, workers, batches, polling, what is kept of a finished job.
    fn includes(mode: Mode) -> &'static str;
    /// Tables and functions into an empty database.
    async fn install(target: &Target) -> Result<()>;
    /// What a copy of that database needs before it can be used.
    async fn adopt(_target: &Target) -> Result<()> {
        Ok(())
    }
    /// Puts jobs into the queue the fastest way the system offers.
    async fn fill(target: &Target, jobs: u64) -> Result<()>;
    async fn prepare(target: &Target, mode: Mode, done: Done) -> Result<Self::Ready>;
    async fn start(ready: Self::Ready) -> Result<Self::Running>;
    /// Stops in order and closes every connection.
    async fn stop(running: Self::Running) -> Result<()>;
}

/// Counts jobs that were handled, and calls out at the last one.
#[derive(Debug, Clone)]
pub(crate) struct Done(Arc<Tally>);

#[derive(Debug)]
struct Tally {
    expected: u64,
    handled: AtomicU64,
    all: Notify,
}

impl Done {
    pub(crate) fn expecting(jobs: u64) -> Self {
        Self(Arc::new(Tally { expected: jobs, handled: AtomicU64::new(0), all: Notify::new() }))
    }

    pub(crate) fn handled(&self, jobs: u64) {
        if self.0.handled.fetch_add(jobs, Ordering::Relaxed) + jobs == self.0.expected {
            self.0.all.notify_one();
        }
    }

    /// Waits until every job was handled; says how many were when that takes too long.
    pub(crate) async fn all(&self, limit: Duration) -> Result<()> {
        if tokio::time::timeout(limit, self.0.all.notified()).await.is_err() {
            let handled = self.0.handled.load(Ordering::Relaxed);
            anyhow::bail!("{handled} of {} jobs were handled within {limit:?}", self.0.expected);
        }
        Ok(())
    }
}

/// A peer's pool: as superuser.
pub(crate) async fn open_pool(target: &Target, connections: u32) -> Result<PgPool> {
    open_pool_as(target.admin_options(), connections).await
}

/// A pool with all of its connections open, and without the ping that pools otherwise send before each statement.
pub(crate) async fn open_pool_as(options: PgConnectOptions, connections: u32) -> Result<PgPool> {
    let pool = PgPoolOptions::new()
        .min_connections(connections)
        .max_connections(connections)
        .test_before_acquire(false)
        .connect_with(options)
        .await?;
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(pool.acquire().await?);
    }
    drop(open);
    Ok(pool)
}
