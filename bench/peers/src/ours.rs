//! Our own queue, through its doors and as the login that workers have.

use anyhow::{Context as _, Result};
use chancery_engine::registry;
use chancery_store::{Role, Store, Target};
use serde_json::{Value, json};
use sqlx::postgres::{PgPool, PgRow};
use sqlx::{Executor as _, Row as _};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::system::{Done, Mode, System, WORKERS, open_pool_as};

/// The product's worker: one call records results and leases what is next. `APART` has two calls for that, as the peers do.
#[derive(Debug)]
pub(crate) struct Ours<const APART: bool>;

pub(crate) struct Ready {
    pool: PgPool,
    batch: i32,
    done: Done,
}

pub(crate) struct Running {
    pool: PgPool,
    workers: JoinSet<Result<()>>,
}

/// Jobs that one call puts in.
const FILL: u64 = 5_000;

/// Jobs that one call leases and reports on in batched mode.
const BATCH: i32 = 500;

/// The release's own service principal, which hosts loops and workers.
const PRINCIPAL: &str = "chancery";

const CLAIM: &str =
    "select job_id, lease_no, report from queue.fn_job_claim('noop', $1, $2, 'chancery')";
const ACK: &str = "select queue.fn_job_ack($1, 'chancery', $2, $3, $4, $5)";
const TURN: &str = "select job_id, lease_no, report \
                    from queue.fn_job_turn('noop', $1, $2, 'chancery', $3, $4, $5, $6)";

impl<const APART: bool> System for Ours<APART> {
    const NAME: &'static str = if APART { "Chancery apart" } else { "Chancery" };
    const UNFINISHED: &'static str = "select exists (select from queue.job_queue)";
    type Ready = Ready;
    type Running = Running;

    fn includes(mode: Mode) -> &'static str {
        match (mode, APART) {
            (Mode::Unbatched, false) => {
                "8 workers, each call records one result and leases one job; leases with fencing tokens, retry policy, identity \
                 of the caller checked at each call; a finished job's row moves to job_finished and stays"
            }
            (Mode::Unbatched, true) => {
                "as Chancery, but one call leases a job and another records its result: as many round trips as graphile_worker"
            }
            (Mode::Batched, false) => {
                "8 workers, each call records 500 results and leases 500 jobs; no polling while there is work; the same checks; \
                 a finished job's row moves to job_finished and stays"
            }
            (Mode::Batched, true) => {
                "as Chancery, but one call leases 500 jobs and another records their results"
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
        let pool = open_pool_as(target.options(Role::App)?, 1).await?;
        let mut next = 0;
        while next < jobs {
            let until = (next + FILL).min(jobs);
            let batch: Vec<Value> = (next..until)
                .map(|num| json!({ "class": "noop", "kind": "noop", "key": num.to_string(), "payload": { "num": num } }))
                .collect();
            sqlx::query("select queue.fn_job_enqueue($1, $2, 'system')")
                .bind(Value::Array(batch))
                .bind(PRINCIPAL)
                .execute(&pool)
                .await?;
            next = until;
        }
        pool.close().await;
        Ok(())
    }

    async fn prepare(target: &Target, mode: Mode, done: Done) -> Result<Ready> {
        let pool = open_pool_as(target.options(Role::App)?, u32::try_from(WORKERS)?).await?;
        let batch = match mode {
            Mode::Unbatched => 1,
            Mode::Batched => std::env::var("BATCH").map_or(BATCH, |v| v.parse().unwrap_or(BATCH)),
        };
        Ok(Ready { pool, batch, done })
    }

    async fn start(ready: Ready) -> Result<Running> {
        let mut workers = JoinSet::new();
        for number in 0..WORKERS {
            let worker = Worker {
                name: format!("bench-{number}"),
                pool: ready.pool.clone(),
                batch: ready.batch,
                done: ready.done.clone(),
            };
            workers.spawn(async move {
                if APART { worker.apart().await } else { worker.turns().await }
            });
        }
        Ok(Running { pool: ready.pool, workers })
    }

    async fn stop(mut running: Running) -> Result<()> {
        while let Some(worker) = running.workers.join_next().await {
            worker??;
        }
        running.pool.close().await;
        Ok(())
    }
}

struct Worker {
    name: String,
    pool: PgPool,
    batch: i32,
    done: Done,
}

/// Jobs at work, as the two lists that a report brings back.
#[derive(Default)]
struct Leased {
    jobs: Vec<Uuid>,
    leases: Vec<i32>,
}

impl Leased {
    /// Takes the rows of a claim or a turn; what the first row of a turn reports must all have been accepted.
    fn from_rows(rows: &[PgRow], reported: usize) -> Result<Self> {
        let mut leased = Self::default();
        for row in rows {
            if let Some(report) = row.try_get::<Option<Value>, _>("report")? {
                accepted(&report, reported)?;
                continue;
            }
            leased.jobs.push(row.try_get("job_id")?);
            leased.leases.push(row.try_get("lease_no")?);
        }
        Ok(leased)
    }

    fn outcomes(&self) -> Vec<&'static str> {
        vec!["succeeded"; self.jobs.len()]
    }

    fn details(&self) -> Vec<Value> {
        vec![json!({}); self.jobs.len()]
    }
}

impl Worker {
    async fn turns(self) -> Result<()> {
        let mut leased = Leased::default();
        loop {
            let rows = self
                .pool
                .fetch_all(
                    sqlx::query(TURN)
                        .bind(self.batch)
                        .bind(&self.name)
                        .bind(&leased.jobs)
                        .bind(&leased.leases)
                        .bind(leased.outcomes())
                        .bind(leased.details()),
                )
                .await?;
            leased = Leased::from_rows(&rows, leased.jobs.len())?;
            if leased.jobs.is_empty() {
                return Ok(());
            }
            self.done.handled(leased.jobs.len() as u64);
        }
    }

    async fn apart(self) -> Result<()> {
        loop {
            let rows =
                self.pool.fetch_all(sqlx::query(CLAIM).bind(self.batch).bind(&self.name)).await?;
            let leased = Leased::from_rows(&rows, 0)?;
            if leased.jobs.is_empty() {
                return Ok(());
            }
            self.done.handled(leased.jobs.len() as u64);
            let report: Value = sqlx::query_scalar(ACK)
                .bind(&self.name)
                .bind(&leased.jobs)
                .bind(&leased.leases)
                .bind(leased.outcomes())
                .bind(leased.details())
                .fetch_one(&self.pool)
                .await?;
            accepted(&report, leased.jobs.len())?;
        }
    }
}

fn accepted(report: &Value, reported: usize) -> Result<()> {
    let accepted = report["accepted"].as_u64().context("a report says how many were accepted")?;
    anyhow::ensure!(accepted == reported as u64, "not every result was accepted: {report}");
    Ok(())
}
