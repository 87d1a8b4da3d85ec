//! A cluster of the benchmark's own, with default durability, and the tables of the limit beside the engine's.

use anyhow::{Context as _, Result};
use chancery_engine::registry;
use chancery_model::machine::{Definition, File};
use chancery_store::fsm::Start;
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::{Role, Store, Target};
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _};
use uuid::Uuid;

/// The cluster, stopped and removed with the value.
pub(crate) struct Server {
    cluster: Cluster,
    _home: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Result<Self> {
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

    pub(crate) const fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.cluster.stop() {
            crate::say(&format!("the benchmark's cluster did not stop: {error}"));
        }
    }
}

/// One database with the engine's tables and the limit's, and the runs that both move.
pub(crate) struct Ground {
    pub(crate) target: Target,
    pub(crate) runs: Vec<Uuid>,
}

impl Ground {
    pub(crate) async fn prepare(server: &Server, database: &str, runs: usize) -> Result<Self> {
        let target = Target::managed(&server.cluster)?.with_database(database);
        target.migrate().await?;
        let operator = Store::open(&target, Role::Migrator)?;
        operator
            .fn_principal_add("bench", "service", &["executor_worker".to_owned()], None)
            .await?;
        let file =
            File::parse(include_str!("../pendulum.yaml")).context("the benchmark's machine")?;
        registry::apply_definition(&operator, &Definition::from(&file), "bench", true).await?;
        operator.close().await;
        let mut ground = Self { target, runs: Vec::with_capacity(runs) };
        ground.hang(runs).await?;
        Ok(ground)
    }

    async fn hang(&mut self, runs: usize) -> Result<()> {
        let store = Store::open(&self.target, Role::App)?;
        for _ in 0..runs {
            let run_id = Uuid::now_v7();
            store
                .fn_run_start(&Start {
                    run_id,
                    machine: "pendulum".to_owned(),
                    data: json!({ "weight": 3 }),
                    actor_class: "executor_worker".to_owned(),
                    trigger_kind: "rpc".to_owned(),
                    trigger_ref: "hang".to_owned(),
                    evidence: json!({}),
                    principal: "bench".to_owned(),
                    idempotency_key: "hang".to_owned(),
                    reason: None,
                    parent: None,
                    trace_id: None,
                    signed: None,
                })
                .await?;
            self.runs.push(run_id);
        }
        store.close().await;
        let mut admin = self.superuser().await?;
        sqlx::raw_sql(include_str!("../sql/limit.sql")).execute(&mut admin).await?;
        for statement in [
            "set session_replication_role = replica",
            "insert into bench.run select * from fsm.run",
            "insert into bench.transition_log select * from fsm.transition_log",
            "reset session_replication_role",
            "vacuum analyze",
            "checkpoint",
        ] {
            sqlx::raw_sql(statement).execute(&mut admin).await?;
        }
        admin.close().await?;
        Ok(())
    }

    pub(crate) async fn superuser(&self) -> Result<PgConnection> {
        Ok(self.target.admin_options().connect().await?)
    }

    /// Puts a million rows into both logs and both outboxes.
    pub(crate) async fn fill(&self) -> Result<()> {
        let mut admin = self.superuser().await?;
        sqlx::raw_sql(include_str!("../sql/fill.sql")).execute(&mut admin).await?;
        admin.close().await?;
        self.target.rearm_triggers().await?;
        let mut admin = self.superuser().await?;
        for statement in ["vacuum analyze", "checkpoint"] {
            sqlx::raw_sql(statement).execute(&mut admin).await?;
        }
        admin.close().await?;
        Ok(())
    }

    /// Write-ahead log position in bytes, and transactions committed in the database.
    pub(crate) async fn counters(&self) -> Result<(i64, i64)> {
        let mut admin = self.superuser().await?;
        let row: (i64, i64) = sqlx::query_as(
            "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,
                    (select xact_commit from pg_stat_database where datname = current_database())",
        )
        .fetch_one(&mut admin)
        .await?;
        admin.close().await?;
        Ok(row)
    }
}
