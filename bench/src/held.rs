//! The queue under a snapshot that somebody holds for minutes: nothing that was done can be cleaned away meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use chancery_engine::queue::{Answer, Executor, Settings, Worker};
use chancery_engine::registry;
use chancery_store::queue::{LeasedJob, NewJob};
use chancery_store::{Role, Store, Target};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::watch;

use chancery_bench::{Server, say, tell};

const WORKERS: usize = 8;
const PER_SECOND: usize = 500;
const BURST: usize = 20_000;
/// How long a snapshot is held when it is to be seen that everything runs, and nothing is measured.
const QUICK: Duration = Duration::from_secs(9);

/// Counts what is done.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Executor for Counter {
    fn execute<'a>(&'a self, _: &'a LeasedJob) -> Answer<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(json!({})) })
    }
}

/// A steady stream first without, then with a held snapshot; and how fast a burst is worked off in either.
pub(crate) async fn measure(server: &Server, held: Duration, quick: bool) -> Result<Value> {
    let held = if quick { QUICK } else { held };
    let target = server.target("bench_held")?;
    target.migrate().await?;
    let operator = Store::open(&target, Role::Migrator)?;
    registry::install_product_machines(&operator, "bench").await?;
    operator.close().await;
    let counter = Arc::new(Counter::default());
    let (stop, stopped) = watch::channel(false);
    let mut crew = Vec::new();
    for n in 0..WORKERS {
        crew.push(tokio::spawn(work(target.clone(), n, Arc::clone(&counter), stopped.clone())));
    }
    let producer = Store::open(&target, Role::App)?;
    let mut stream = Stream { store: producer, counter: Arc::clone(&counter), sent: 0 };

    say("a steady stream, nothing held");
    stream.flow(held / 9).await?;
    let before = stream.flow(held / 3).await?;
    let burst_before = stream.burst().await?;
    let mut holder: PgConnection = target.admin_options().connect().await?;
    holder.execute("begin isolation level repeatable read").await?;
    holder.execute("select count(*) from queue.job_queue").await?;
    say(&format!("a snapshot is held for {} s", held.as_secs()));
    stream.flow(held * 2 / 3).await?;
    let during = stream.flow(held / 3).await?;
    let burst_during = stream.burst().await?;
    holder.execute("commit").await?;
    holder.close().await?;
    stop.send(true)?;
    for worker in crew {
        worker.await??;
    }
    ensure!(stream.sent == counter.0.load(Ordering::Relaxed), "a job was lost or done twice");
    let (ratio, burst_ratio) = (during / before, burst_during / burst_before);
    tell(&format!(
        "held snapshot, {} s at {PER_SECOND} jobs/s: {before:.0}/s before, {during:.0}/s in the last third, ratio {ratio:.2} (0.90 wanted); \
         a burst of {BURST}: {burst_before:.0}/s before, {burst_during:.0}/s after it, ratio {burst_ratio:.2}",
        held.as_secs()
    ));
    Ok(json!({
        "what": "held snapshot", "seconds": held.as_secs(), "jobs_per_second_before": before, "jobs_per_second_held": during, "ratio": ratio,
        "burst_per_second_before": burst_before, "burst_per_second_held": burst_during, "burst_ratio": burst_ratio,
    }))
}

async fn work(
    target: Target,
    number: usize,
    counter: Arc<Counter>,
    mut stopped: watch::Receiver<bool>,
) -> Result<()> {
    let settings = Settings {
        class: "noop".to_owned(),
        worker: format!("bench-{number}"),
        principal: "chancery".to_owned(),
        concurrency: 1,
        prefetch: 31,
        lease: Duration::from_secs(30),
        once: false,
        grace: Duration::from_secs(5),
    };
    let store = Store::for_repeaters(&target, Role::App, 1)?;
    let stop = async move {
        // An end of the channel is an end of the run.
        drop(stopped.wait_for(|stop| *stop).await);
    };
    Worker::new(store, counter, settings).run(stop).await?;
    Ok(())
}

struct Stream {
    store: Store,
    counter: Arc<Counter>,
    sent: u64,
}

impl Stream {
    /// Jobs at their rate; gives how many were done a second.
    async fn flow(&mut self, time: Duration) -> Result<f64> {
        let (start, done) = (Instant::now(), self.counter.0.load(Ordering::Relaxed));
        let mut sent = 0;
        while start.elapsed() < time {
            let due = (start.elapsed().as_secs_f64() * PER_SECOND as f64) as usize;
            if due > sent {
                self.send(due - sent).await?;
                sent = due;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let done = self.counter.0.load(Ordering::Relaxed) - done;
        Ok(done as f64 / start.elapsed().as_secs_f64())
    }

    /// Many at once; gives how many were done a second until the last.
    async fn burst(&mut self) -> Result<f64> {
        for _ in 0..BURST / 5_000 {
            self.send(5_000).await?;
        }
        let (start, done) = (Instant::now(), self.counter.0.load(Ordering::Relaxed));
        while self.counter.0.load(Ordering::Relaxed) < self.sent {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok((self.sent - done) as f64 / start.elapsed().as_secs_f64())
    }

    async fn send(&mut self, jobs: usize) -> Result<()> {
        let first = self.sent;
        self.sent += jobs as u64;
        let jobs: Vec<NewJob> = (first..self.sent)
            .map(|n| NewJob {
                class: "noop".to_owned(),
                kind: "bench".to_owned(),
                key: n.to_string(),
                ..NewJob::default()
            })
            .collect();
        self.store.fn_job_enqueue(&jobs, "chancery", "system").await?;
        Ok(())
    }
}
