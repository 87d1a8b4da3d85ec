//! What every benchmark here stands on: a cluster of its own with default durability, and the server's own counters.

use anyhow::{Context as _, Result};
use chancery_store::Target;
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use sqlx::{ConnectOptions as _, Connection as _};

/// The cluster, stopped and removed with the value.
#[derive(Debug)]
pub struct Server {
    cluster: Cluster,
    _home: tempfile::TempDir,
}

impl Server {
    /// Makes a cluster in a folder of its own and starts it.
    ///
    /// # Errors
    /// When there is no PostgreSQL, or it does not start.
    pub fn start() -> Result<Self> {
        let home = tempfile::Builder::new().prefix("chancery-bench").tempdir()?;
        // The server's unprivileged user has to pass through.
        std::fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let resolved = Home::resolve(Some(home.path().to_owned()), &Env::default())?;
        let path = std::env::var_os("PATH");
        let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &resolved))?;
        let cluster = Cluster::open(resolved, binaries, Options::default())?;
        cluster.start()?;
        Ok(Self { cluster, _home: home })
    }

    /// The process number of the server.
    ///
    /// # Errors
    /// When it is not running.
    pub fn pid(&self) -> Result<i32> {
        Ok(self.cluster.status()?.running.context("the benchmark's cluster runs")?.pid)
    }

    /// A database of the cluster, whether it is there or not.
    ///
    /// # Errors
    /// When the superuser's password file cannot be read.
    pub fn target(&self, database: &str) -> Result<Target> {
        Ok(Target::managed(&self.cluster)?.with_database(database))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.cluster.stop() {
            say(&format!("the benchmark's cluster did not stop: {error}"));
        }
    }
}

/// What the server has done so far.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    /// Position of the write-ahead log in bytes.
    pub wal_bytes: i64,
    /// Transactions committed in the database. A connection that is still open may keep its last second to itself.
    pub commits: i64,
}

impl Counters {
    /// Asks as superuser, on a connection of its own.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn read(target: &Target) -> Result<Self> {
        let mut admin = target.admin_options().connect().await?;
        let (wal_bytes, commits) = sqlx::query_as(
            "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,
                    (select xact_commit from pg_stat_database where datname = current_database())",
        )
        .fetch_one(&mut admin)
        .await?;
        admin.close().await?;
        Ok(Self { wal_bytes, commits })
    }
}

/// A line of the table.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub fn tell(line: &str) {
    println!("{line}");
}

/// A line beside the table.
#[expect(clippy::print_stderr, reason = "progress goes beside the data")]
pub fn say(line: &str) {
    eprintln!("{line}");
}
