//! River, by its Rust client.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use anyhow::Result;
use chancery_store::Target;
use riverqueue::migrate::PostgresMigrator;
use riverqueue::{
    Client, InsertOpts, Job, JobArgs, QUEUE_DEFAULT, QueueConfig, RunHandle, WorkContext,
    WorkOutcome, Worker, Workers,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPool;

use crate::system::{Done, Mode, System, WORKERS, open_pool};

#[derive(Debug)]
pub(crate) struct River;

#[derive(Debug, Clone, Serialize, Deserialize, JobArgs)]
#[river(kind = "noop")]
struct Noop {
    num: u64,
}

struct Handler(Done);

impl Worker<Noop> for Handler {
    type Error = Infallible;

    fn work(
        &self,
        _context: WorkContext,
        _job: Job<Noop>,
    ) -> impl Future<Output = Result<WorkOutcome, Infallible>> + Send {
        self.0.handled(1);
        std::future::ready(Ok(WorkOutcome::Complete))
    }
}

pub(crate) struct Ready {
    pool: PgPool,
    client: Client,
}

pub(crate) struct Running {
    pool: PgPool,
    run: RunHandle,
}

/// Jobs that one statement puts in, as in River's own benchmark.
const FILL: u64 = 5_000;

/// Workers that River's own benchmark has.
const MANY_WORKERS: usize = 2_000;

impl System for River {
    const NAME: &'static str = "River";
    const UNFINISHED: &'static str =
        "select exists (select from river_job where state <> 'completed')";
    type Ready = Ready;
    type Running = Running;

    fn includes(mode: Mode) -> &'static str {
        match mode {
            Mode::Unbatched => {
                "8 workers; it has no unbatched mode: one statement claims as many jobs as workers are free, completions are \
                 collected for 10 ms; claims at most every 1 ms (as shipped 100 ms); a finished job's row stays for 24 hours"
            }
            Mode::Batched => {
                "2,000 workers, since it claims as many jobs as workers are free; completions collected for 10 ms, claims at \
                 most every 2 ms, 50 connections (the settings of its own benchmark); a finished job's row stays for 24 hours"
            }
        }
    }

    async fn install(target: &Target) -> Result<()> {
        let pool = open_pool(target, 1).await?;
        PostgresMigrator::new(pool.clone()).migrate_up().await?;
        pool.close().await;
        Ok(())
    }

    async fn fill(target: &Target, jobs: u64) -> Result<()> {
        let pool = open_pool(target, 1).await?;
        let client = Client::builder(pool.clone()).build()?;
        let mut next = 0;
        while next < jobs {
            let until = (next + FILL).min(jobs);
            let batch: Vec<(Noop, InsertOpts)> =
                (next..until).map(|num| (Noop { num }, InsertOpts::default())).collect();
            client.insert_many(batch).await?;
            next = until;
        }
        pool.close().await;
        Ok(())
    }

    async fn prepare(target: &Target, mode: Mode, done: Done) -> Result<Ready> {
        let (connections, queue) = match mode {
            Mode::Unbatched => (
                u32::try_from(WORKERS)? + 2,
                QueueConfig::new(WORKERS)
                    .with_fetch_cooldown(Duration::from_millis(1))
                    .with_fetch_poll_interval(Duration::from_millis(1)),
            ),
            Mode::Batched => (
                50,
                QueueConfig::new(MANY_WORKERS)
                    .with_fetch_cooldown(Duration::from_millis(2))
                    .with_fetch_poll_interval(Duration::from_millis(20)),
            ),
        };
        let pool = open_pool(target, connections).await?;
        let mut workers = Workers::new();
        workers.add::<Noop, _>(Handler(done))?;
        let client =
            Client::builder(pool.clone()).workers(workers).queue(QUEUE_DEFAULT, queue).build()?;
        Ok(Ready { pool, client })
    }

    async fn start(ready: Ready) -> Result<Running> {
        Ok(Running { run: ready.client.start()?, pool: ready.pool })
    }

    async fn stop(mut running: Running) -> Result<()> {
        running.run.stop().await?;
        running.pool.close().await;
        Ok(())
    }
}
