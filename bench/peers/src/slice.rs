//! One system drains one full queue in a fresh database.

use std::time::{Duration, Instant};

use anyhow::Result;
use chancery_bench::{Counters, Server};
use chancery_store::Target;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

use crate::cpu::Cpu;
use crate::system::{Done, Mode, System};

/// No slice takes longer: a system that hangs fails the run instead of holding it.
const LIMIT: Duration = Duration::from_secs(60);

/// What one slice gave.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Slice {
    pub(crate) per_second: f64,
    pub(crate) commits_a_job: f64,
    pub(crate) wal_bytes_a_job: f64,
    /// Processor time of the server's processes. It stays true on a machine that others use too.
    pub(crate) server_us_a_job: f64,
    pub(crate) client_us_a_job: f64,
    pub(crate) filled_per_second: f64,
}

/// Makes the database that every slice of the system is a copy of.
pub(crate) async fn install<S: System>(server: &Server) -> Result<()> {
    let name = template::<S>();
    command(server, &format!("create database \"{name}\"")).await?;
    S::install(&server.target(&name)?).await
}

/// Fills a fresh copy, lets the workers loose and stops the clock when the last completion is committed.
pub(crate) async fn slice<S: System>(server: &Server, mode: Mode, jobs: u64) -> Result<Slice> {
    let postmaster = server.pid()?;
    let name = format!("{}_slice", template::<S>());
    command(
        server,
        &format!("create database \"{name}\" template \"{}\" strategy file_copy", template::<S>()),
    )
    .await?;
    let target = server.target(&name)?;
    let measured = drain::<S>(&target, postmaster, mode, jobs).await;
    command(server, &format!("drop database \"{name}\" with (force)")).await?;
    measured
}

async fn drain<S: System>(
    target: &Target,
    postmaster: i32,
    mode: Mode,
    jobs: u64,
) -> Result<Slice> {
    S::adopt(target).await?;
    let filling = Instant::now();
    S::fill(target, jobs).await?;
    let filled = filling.elapsed();
    let done = Done::expecting(jobs);
    // What filling left behind is cleared away, so that nobody pays for it within the slice.
    let mut cleaner = target.admin_options().connect().await?;
    cleaner.execute("vacuum analyze").await?;
    cleaner.execute("checkpoint").await?;
    cleaner.close().await?;
    let mut watcher = target.admin_options().connect().await?;
    let ready = S::prepare(target, mode, done.clone()).await?;
    let before = Counters::read(target).await?;
    let cpu = Cpu::spent(postmaster)?;
    let begun = Instant::now();
    let running = S::start(ready).await?;
    done.all(LIMIT).await?;
    let ended = loop {
        // The answer was true when the question was put: what the question costs is not the system's.
        let asked = Instant::now();
        let unfinished: bool = sqlx::query_scalar(S::UNFINISHED).fetch_one(&mut watcher).await?;
        if !unfinished {
            break asked;
        }
        anyhow::ensure!(begun.elapsed() < LIMIT, "{} did not finish its jobs", S::NAME);
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let wal_bytes = Counters::read(target).await?.wal_bytes - before.wal_bytes;
    let cpu = Cpu::spent(postmaster)?.since(&cpu);
    // Backends hand their counts over when they leave.
    S::stop(running).await?;
    watcher.close().await?;
    let commits = Counters::read(target).await?.commits - before.commits;
    #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark fit a double")]
    let (jobs, commits, wal_bytes) = (jobs as f64, commits as f64, wal_bytes as f64);
    Ok(Slice {
        per_second: jobs / (ended - begun).as_secs_f64(),
        commits_a_job: commits / jobs,
        wal_bytes_a_job: wal_bytes / jobs,
        server_us_a_job: cpu.server.as_secs_f64() * 1e6 / jobs,
        client_us_a_job: cpu.client.as_secs_f64() * 1e6 / jobs,
        filled_per_second: jobs / filled.as_secs_f64(),
    })
}

fn template<S: System>() -> String {
    format!("bench_{}", S::NAME.to_lowercase().replace(' ', "_"))
}

async fn command(server: &Server, statement: &str) -> Result<()> {
    let mut admin = server.target("postgres")?.admin_options().connect().await?;
    admin.execute(AssertSqlSafe(statement.to_owned())).await?;
    admin.close().await?;
    Ok(())
}
