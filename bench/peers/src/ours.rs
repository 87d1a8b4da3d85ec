//! Our own queue, as the login that workers have: by the product's worker, and by its doors alone.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use chancery_engine::queue::{Answer, Executor, Settings, Worker};
use chancery_engine::registry;
use chancery_store::queue::{JobOutcome, JobResult, LeasedJob, NewJob};
use chancery_store::{Role, Store, Target};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::system::{Done, Mode, System, WORKERS};

/// The product's worker; with `BARE`, a loop around its door that does nothing else, to tell the two apart.
#[derive(Debug)]
pub(crate) struct Ours<const BARE: bool>;

pub(crate) struct Ready {
    store: Store,
    mode: Mode,
    done: Done,
}

pub(crate) struct Running {
    store: Store,
    stop: watch::Sender<bool>,
    workers: JoinSet<Result<()>>,
}

/// Jobs that one call puts in.
const FILL: u64 = 5_000;

/// Jobs that a worker leases ahead in batched mode.
const BATCH: usize = 500;

const CLASS: &str = "noop";
/// The release's own service principal, which hosts loops and workers.
const PRINCIPAL: &str = "chancery";

impl<const BARE: bool> System for Ours<BARE> {
    const NAME: &'static str = if BARE { "Chancery doors" } else { "Chancery" };
    const UNFINISHED: &'static str = "select exists (select from queue.job_queue)";
    type Ready = Ready;
    type Running = Running;

    fn includes(mode: Mode) -> &'static str {
        match (mode, BARE) {
            (Mode::Unbatched, false) => {
                "8 workers, each call records one result and leases one job; fencing tokens, retry policy, the caller's identity \
                 checked at each call; a finished job's row moves to job_finished and stays for the retention"
            }
            (Mode::Batched, false) => {
                "8 workers, each leases 500 jobs ahead and records results in the call that leases the next; the same checks; a \
                 finished job's row moves to job_finished and stays for the retention"
            }
            (Mode::Unbatched | Mode::Batched, true) => {
                "as Chancery, but a bare loop around fn_job_turn instead of the product's worker"
            }
        }
    }

    async fn install(target: &Target) -> Result<()> {
        target.migrate().await?;
        let operator = Store::open(target, Role::Migrator)?;
        registry::install_product_machines(&operator, "bench").await?;
        operator.close().await;
        Ok(())
    }

    async fn adopt(target: &Target) -> Result<()> {
        // Rights on a database do not come along with a copy.
        Ok(target.apply_database_settings().await?)
    }

    async fn fill(target: &Target, jobs: u64) -> Result<()> {
        let store = Store::open(target, Role::App)?;
        let mut next = 0;
        while next < jobs {
            let until = (next + FILL).min(jobs);
            let batch: Vec<NewJob> = (next..until)
                .map(|num| NewJob {
                    class: CLASS.to_owned(),
                    kind: "noop".to_owned(),
                    key: num.to_string(),
                    payload: Some(json!({ "num": num })),
                    ..NewJob::default()
                })
                .collect();
            store.fn_job_enqueue(&batch, PRINCIPAL, "system").await?;
            next = until;
        }
        store.close().await;
        Ok(())
    }

    async fn prepare(target: &Target, mode: Mode, done: Done) -> Result<Ready> {
        let store = Store::for_repeaters(target, Role::App, u32::try_from(WORKERS)?)?;
        // Asks that overlap open all connections; nobody may have a job from them, since a class without jobs is asked for.
        let mut asks = JoinSet::new();
        for number in 0..WORKERS {
            let store = store.clone();
            asks.spawn(async move {
                store.fn_job_claim("command", 1, &name(number), PRINCIPAL).await.map(|_| ())
            });
        }
        while let Some(asked) = asks.join_next().await {
            asked??;
        }
        Ok(Ready { store, mode, done })
    }

    async fn start(ready: Ready) -> Result<Running> {
        let Ready { store, mode, done } = ready;
        let (stop, stopped) = watch::channel(false);
        let mut workers = JoinSet::new();
        for number in 0..WORKERS {
            let (store, done, mut stopped) = (store.clone(), done.clone(), stopped.clone());
            workers.spawn(async move {
                if BARE {
                    return turns(&store, &name(number), mode, &done).await;
                }
                let worker = Worker::new(store, Arc::new(Counting(done)), settings(number, mode));
                let asked_to_stop = async move {
                    // A sender that is gone asks too.
                    drop(stopped.wait_for(|stop| *stop).await);
                };
                worker.run(asked_to_stop).await?;
                Ok(())
            });
        }
        Ok(Running { store, stop, workers })
    }

    async fn stop(mut running: Running) -> Result<()> {
        running.stop.send_replace(true);
        while let Some(worker) = running.workers.join_next().await {
            worker??;
        }
        running.store.close().await;
        Ok(())
    }
}

fn settings(number: usize, mode: Mode) -> Settings {
    Settings {
        class: CLASS.to_owned(),
        worker: name(number),
        principal: PRINCIPAL.to_owned(),
        concurrency: 1,
        prefetch: match mode {
            Mode::Unbatched => 0,
            Mode::Batched => BATCH,
        },
        lease: Duration::from_secs(30),
        once: false,
        grace: Duration::from_secs(5),
    }
}

/// Does nothing, and counts it.
#[derive(Debug)]
struct Counting(Done);

impl Executor for Counting {
    fn execute<'a>(&'a self, _job: &'a LeasedJob) -> Answer<'a> {
        self.0.handled(1);
        Box::pin(std::future::ready(Ok(json!({}))))
    }
}

async fn turns(store: &Store, worker: &str, mode: Mode, done: &Done) -> Result<()> {
    let limit = match mode {
        Mode::Unbatched => 1,
        Mode::Batched => i32::try_from(BATCH)?,
    };
    let mut results = Vec::new();
    loop {
        let (report, jobs) = store.fn_job_turn(CLASS, limit, worker, PRINCIPAL, &results).await?;
        anyhow::ensure!(
            report.accepted == results.len() as u64,
            "not every result was accepted: {report:?}"
        );
        if jobs.is_empty() {
            return Ok(());
        }
        done.handled(jobs.len() as u64);
        results = jobs
            .into_iter()
            .map(|job| JobResult {
                job_id: job.job_id,
                lease_no: job.lease_no,
                outcome: JobOutcome::Succeeded,
                detail: json!({}),
            })
            .collect();
    }
}

fn name(number: usize) -> String {
    format!("bench-{number}")
}
