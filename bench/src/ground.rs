//! The database that is measured: the tables of the limit beside the engine's.

use anyhow::{Context as _, Result};
use chancery_bench::{Counters, Server};
use chancery_engine::registry;
use chancery_model::machine::{Definition, File};
use chancery_store::fsm::Start;
use chancery_store::{Role, Store, Target};
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions as _, Connection as _};
use uuid::Uuid;

/// One database with the engine's tables and the limit's, and the runs that both move.
pub(crate) struct Ground {
    pub(crate) target: Target,
    pub(crate) runs: Vec<Uuid>,
}

impl Ground {
    pub(crate) async fn prepare(server: &Server, database: &str, runs: usize) -> Result<Self> {
        let target = server.target(database)?;
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

    /// What the server has written and committed so far.
    pub(crate) async fn counters(&self) -> Result<Counters> {
        Counters::read(&self.target).await
    }
}
