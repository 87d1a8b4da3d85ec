//! graphile_worker, the Rust port.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use chancery_store::Target;
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler, Worker,
    WorkerContext, WorkerOptions, WorkerUtils,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPool;
use tokio::task::JoinHandle;

use crate::system::{Done, Mode, System, WORKERS, open_pool};

#[derive(Debug)]
pub(crate) struct Graphile;

#[derive(Debug, Serialize, Deserialize)]
struct Noop {
    num: u64,
}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        if let Some(done) = context.get_ext::<Done>() {
            done.handled(1);
        }
        Ok::<(), String>(())
    }
}

pub(crate) struct Ready {
    pool: PgPool,
    worker: Worker,
}

pub(crate) struct Running {
    pool: PgPool,
    worker: Arc<Worker>,
    task: JoinHandle<Result<()>>,
}

/// Jobs that one statement puts in.
const FILL: u64 = 5_000;

impl System for Graphile {
    const NAME: &'static str = "graphile_worker";
    const UNFINISHED: &'static str = "select exists (select from graphile_worker._private_jobs)";
    type Ready = Ready;
    type Running = Running;

    fn includes(mode: Mode) -> &'static str {
        match mode {
            Mode::Unbatched => {
                "8 workers, each claims one job and deletes it with a statement of its own; polls every 1 ms (as shipped 1 s: a \
                 poll hands each worker one job); nothing is kept of a finished job"
            }
            Mode::Batched => {
                "8 workers, a local queue of 5,000 jobs, completions collected for 5 ms, polls every 5 ms (the settings of its \
                 own benchmark); nothing is kept of a finished job"
            }
        }
    }

    async fn install(target: &Target) -> Result<()> {
        let pool = open_pool(target, 1).await?;
        utils(&pool).migrate().await?;
        pool.close().await;
        Ok(())
    }

    async fn fill(target: &Target, jobs: u64) -> Result<()> {
        let pool = open_pool(target, 1).await?;
        let utils = utils(&pool);
        let mut next = 0;
        while next < jobs {
            let until = (next + FILL).min(jobs);
            let batch: Vec<RawJobSpec> = (next..until)
                .map(|num| RawJobSpec {
                    identifier: Noop::IDENTIFIER.to_owned(),
                    payload: serde_json::json!({ "num": num }),
                    spec: JobSpec::default(),
                })
                .collect();
            utils.add_raw_jobs(&batch).await?;
            next = until;
        }
        pool.close().await;
        Ok(())
    }

    async fn prepare(target: &Target, mode: Mode, done: Done) -> Result<Ready> {
        // One connection listens, one is for what the worker does beside the jobs.
        let pool = open_pool(target, u32::try_from(WORKERS)? + 2).await?;
        let options = WorkerOptions::default()
            .pg_pool(pool.clone())
            .concurrency(WORKERS)
            .add_extension(done)
            .define_job::<Noop>();
        let options = match mode {
            Mode::Unbatched => options.poll_interval(Duration::from_millis(1)),
            Mode::Batched => options
                .poll_interval(Duration::from_millis(5))
                .complete_job_batch_delay(Duration::from_millis(5))
                .local_queue(LocalQueueConfig::default().with_size(5_000)),
        };
        Ok(Ready { worker: options.init().await?, pool })
    }

    async fn start(ready: Ready) -> Result<Running> {
        let worker = Arc::new(ready.worker);
        let task = tokio::spawn({
            let worker = worker.clone();
            async move { Ok(worker.run().await?) }
        });
        Ok(Running { pool: ready.pool, worker, task })
    }

    async fn stop(running: Running) -> Result<()> {
        running.worker.request_shutdown();
        running.task.await??;
        running.pool.close().await;
        Ok(())
    }
}

fn utils(pool: &PgPool) -> WorkerUtils {
    WorkerUtils::new(pool.clone(), "graphile_worker")
}
