//! One bare connection with the doors on it: for tests that hold a transaction open, which the store never does.

use chancery_store::fsm::{Move, MoveReport, Start};
use chancery_store::{Error, Role, Target};
use chancery_testkit::{TestDb, until};
use serde_json::{Value, json};
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use tokio::task::JoinHandle;

/// The three isolation levels that PostgreSQL tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub(crate) const ALL: [Self; 3] =
        [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    const fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "begin isolation level read committed",
            Self::RepeatableRead => "begin isolation level repeatable read",
            Self::Serializable => "begin isolation level serializable",
        }
    }
}

pub(crate) struct Session {
    pub(crate) connection: PgConnection,
    pub(crate) pid: i32,
}

impl Session {
    pub(crate) async fn open(db: &TestDb, role: Role) -> Self {
        Self::open_at(db.target(), role).await
    }

    pub(crate) async fn open_at(target: &Target, role: Role) -> Self {
        let mut connection =
            target.options(role).expect("options").connect().await.expect("the login gets in");
        let pid = backend_pid(&mut connection).await;
        Self { connection, pid }
    }

    /// Begins a transaction and takes its snapshot, which the levels above READ COMMITTED keep.
    pub(crate) async fn begin(&mut self, isolation: Isolation) {
        self.run(isolation.sql()).await.expect("a transaction begins");
        backend_pid(&mut self.connection).await;
    }

    pub(crate) async fn commit(&mut self) -> Result<(), Error> {
        self.run("commit").await
    }

    pub(crate) async fn rollback(&mut self) {
        self.run("rollback").await.expect("a transaction can always be rolled back");
    }

    pub(crate) async fn run(&mut self, statement: &str) -> Result<(), Error> {
        self.connection.execute(AssertSqlSafe(statement.to_owned())).await?;
        Ok(())
    }

    pub(crate) async fn apply(&mut self, m: &Move) -> Result<MoveReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select fsm.fn_state_transition_apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(m.run_id)
        .bind(&m.run_kind)
        .bind(&m.from)
        .bind(&m.to)
        .bind(&m.actor_class)
        .bind(&m.trigger_kind)
        .bind(&m.trigger_ref)
        .bind(&m.evidence)
        .bind(&m.principal)
        .bind(&m.idempotency_key)
        .bind(&m.reason)
        .fetch_one(&mut self.connection)
        .await?;
        Ok(serde_json::from_value(report).expect("a report"))
    }

    pub(crate) async fn start(&mut self, s: &Start) -> Result<MoveReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select fsm.fn_run_start($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(s.run_id)
        .bind(&s.machine)
        .bind(&s.data)
        .bind(&s.actor_class)
        .bind(&s.trigger_kind)
        .bind(&s.trigger_ref)
        .bind(&s.evidence)
        .bind(&s.principal)
        .bind(&s.idempotency_key)
        .bind(&s.reason)
        .bind(s.parent)
        .fetch_one(&mut self.connection)
        .await?;
        Ok(serde_json::from_value(report).expect("a report"))
    }

    pub(crate) async fn batch(&mut self, moves: &[Move]) -> Result<Vec<MoveReport>, Error> {
        let moves: Vec<Value> = moves
            .iter()
            .map(|m| {
                json!({
                    "run_id": m.run_id, "run_kind": m.run_kind, "from": m.from, "to": m.to,
                    "actor_class": m.actor_class, "trigger_kind": m.trigger_kind,
                    "trigger_ref": m.trigger_ref, "evidence": m.evidence, "principal": m.principal,
                    "idempotency_key": m.idempotency_key, "reason": m.reason,
                })
            })
            .collect();
        let reports: Value = sqlx::query_scalar("select fsm.fn_state_transition_apply_batch($1)")
            .bind(Value::Array(moves))
            .fetch_one(&mut self.connection)
            .await?;
        Ok(serde_json::from_value(reports).expect("reports"))
    }
}

async fn backend_pid(connection: &mut PgConnection) -> i32 {
    sqlx::query_scalar("select pg_backend_pid()").fetch_one(connection).await.expect("a pid")
}

/// A superuser's eyes beside the sessions.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) pool: PgPool,
}

impl Watch {
    pub(crate) fn new(db: &TestDb) -> Self {
        let pool =
            PgPoolOptions::new().max_connections(4).connect_lazy_with(db.target().admin_options());
        Self { pool }
    }

    /// Waits until the session stands in front of a lock.
    pub(crate) async fn until_blocked(&self, pid: i32) {
        until("the session waits for a lock", || self.is_blocked(pid)).await;
    }

    /// Waits until the session stands behind this other one.
    pub(crate) async fn until_blocked_on(&self, pid: i32, other: i32) {
        until("the session waits for the other one", || async {
            sqlx::query_scalar("select $2 = any (pg_blocking_pids($1))")
                .bind(pid)
                .bind(other)
                .fetch_one(&self.pool)
                .await
                .expect("an answer")
        })
        .await;
    }

    /// Waits until the session stands in front of a lock, or has its answer without having to wait for one.
    pub(crate) async fn until_blocked_or_done<T>(&self, pid: i32, task: &JoinHandle<T>) {
        until("the session waits for a lock or is done", || async {
            task.is_finished() || self.is_blocked(pid).await
        })
        .await;
    }

    async fn is_blocked(&self, pid: i32) -> bool {
        sqlx::query_scalar(
            "select exists (select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock')",
        )
        .bind(pid)
        .fetch_one(&self.pool)
        .await
        .expect("an answer")
    }

    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&self.pool).await.expect("a count")
    }
}
