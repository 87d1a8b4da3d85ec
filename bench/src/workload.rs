//! The four workloads: engine and limit, single moves and batches of fifty.

use std::time::{Duration, Instant};

use anyhow::Result;
use chancery_store::fsm::Move;
use chancery_store::{Role, Store};
use serde_json::json;
use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::sync::Barrier;
use uuid::Uuid;

use crate::ground::Ground;

pub(crate) const BATCH: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Limit,
    Engine,
}

/// What one slice of time gave.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Slice {
    pub(crate) moves: u64,
    pub(crate) per_second: f64,
    pub(crate) p99_ms: f64,
    pub(crate) commits_a_move: f64,
    pub(crate) wal_bytes_a_move: f64,
}

/// Which side each run is on; both sides start on the left.
#[derive(Debug, Clone)]
pub(crate) struct Pendulums {
    pub(crate) on_the_right: Vec<bool>,
}

enum Way {
    Engine(Store),
    Limit(PgPool),
}

/// Runs one side for a while with a number of clients. Each client has runs of its own, so nobody waits for a row.
pub(crate) async fn slice(
    ground: &Ground,
    side: Side,
    clients: usize,
    batched: bool,
    time: Duration,
    pendulums: &mut Pendulums,
) -> Result<Slice> {
    let connections = u32::try_from(clients)?;
    let way = std::sync::Arc::new(match side {
        Side::Engine => {
            Way::Engine(Store::with_connections(&ground.target, Role::App, connections)?)
        }
        Side::Limit => {
            let options = PgPoolOptions::new().max_connections(connections);
            Way::Limit(options.connect_lazy_with(ground.target.options(Role::App)?))
        }
    });
    // Every connection is opened and has compiled its functions and settled on its plans before the clock starts.
    let warm = std::sync::Arc::new(Barrier::new(clients + 1));
    let go = std::sync::Arc::new(Barrier::new(clients + 1));
    let mut tasks = Vec::new();
    for client in 0..clients {
        let mine: Vec<(Uuid, bool)> = ground
            .runs
            .iter()
            .zip(&pendulums.on_the_right)
            .skip(client)
            .step_by(clients)
            .map(|(run, right)| (*run, *right))
            .collect();
        let (way, warm, go) = (way.clone(), warm.clone(), go.clone());
        tasks.push(tokio::spawn(async move {
            let mut swings = Swings { mine, next: 0, at_once: if batched { BATCH } else { 1 } };
            let mut failed = Ok(());
            for _ in 0..WARM_UP {
                failed = failed.and(swings.swing(&way, batched).await.map(|_| ()));
            }
            warm.wait().await;
            go.wait().await;
            failed?;
            let until = Instant::now() + time;
            let mut latencies = Vec::new();
            while Instant::now() < until {
                latencies.push(swings.swing(&way, batched).await?);
            }
            let done = (latencies.len() * swings.at_once) as u64;
            anyhow::Ok((swings.mine, done, latencies))
        }));
    }
    warm.wait().await;
    let before = ground.counters().await?;
    go.wait().await;
    let started = Instant::now();
    let mut moves = 0;
    let mut latencies = Vec::new();
    for (client, task) in tasks.into_iter().enumerate() {
        let (mine, done, mut times) = task.await??;
        moves += done;
        latencies.append(&mut times);
        for (slot, (_, right)) in
            pendulums.on_the_right.iter_mut().skip(client).step_by(clients).zip(&mine)
        {
            *slot = *right;
        }
    }
    let elapsed = started.elapsed().as_secs_f64();
    match &*way {
        Way::Engine(store) => store.close().await,
        Way::Limit(pool) => pool.close().await,
    }
    let after = ground.counters().await?;
    latencies.sort_unstable();
    let p99 =
        latencies.get(latencies.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark fit a double")]
    Ok(Slice {
        moves,
        per_second: moves as f64 / elapsed,
        p99_ms: p99.as_secs_f64() * 1000.0,
        commits_a_move: (after.commits - before.commits) as f64 / moves as f64,
        wal_bytes_a_move: (after.wal_bytes - before.wal_bytes) as f64 / moves as f64,
    })
}

/// Moves each client makes before the clock starts: PostgreSQL settles on a plan after five.
const WARM_UP: usize = 12;

struct Swings {
    mine: Vec<(Uuid, bool)>,
    next: usize,
    at_once: usize,
}

impl Swings {
    /// One call: one move, or a batch of them.
    async fn swing(&mut self, way: &Way, batched: bool) -> Result<Duration> {
        let picked: Vec<usize> =
            (0..self.at_once).map(|n| (self.next + n) % self.mine.len()).collect();
        self.next += self.at_once;
        let moves: Vec<Move> =
            picked.iter().map(|&n| pendulum_move(self.mine[n].0, self.mine[n].1)).collect();
        let begun = Instant::now();
        match (way, batched) {
            (Way::Engine(store), false) => {
                store.fn_state_transition_apply(&moves[0]).await?;
            }
            (Way::Engine(store), true) => {
                let reports = store.fn_state_transition_apply_batch(&moves).await?;
                anyhow::ensure!(
                    reports.iter().all(|report| report.ok),
                    "a move of the benchmark was refused"
                );
            }
            (Way::Limit(pool), false) => {
                let m = &moves[0];
                let statement = sqlx::query(include_str!("../sql/limit_move.sql"))
                    .bind(m.run_id)
                    .bind(&m.to)
                    .bind(&m.idempotency_key)
                    .bind(transition_id(m));
                let written = bind_the_rest(statement, m).execute(pool).await?;
                anyhow::ensure!(written.rows_affected() == 1, "the limit wrote nothing");
            }
            (Way::Limit(pool), true) => {
                let runs: Vec<Uuid> = moves.iter().map(|m| m.run_id).collect();
                let targets: Vec<String> = moves.iter().map(|m| m.to.clone()).collect();
                let keys: Vec<String> = moves.iter().map(|m| m.idempotency_key.clone()).collect();
                let statement = sqlx::query(include_str!("../sql/limit_batch.sql"))
                    .bind(runs)
                    .bind(targets)
                    .bind(keys)
                    .bind(moves.iter().map(transition_id).collect::<Vec<_>>());
                let written = bind_the_rest(statement, &moves[0]).execute(pool).await?;
                anyhow::ensure!(
                    written.rows_affected() == moves.len() as u64,
                    "the limit wrote too little"
                );
            }
        }
        let elapsed = begun.elapsed();
        for n in picked {
            self.mine[n].1 = !self.mine[n].1;
        }
        Ok(elapsed)
    }
}

/// The row of the machine that allows the move: who writes by hand has to know it.
fn transition_id(m: &Move) -> &'static str {
    if m.to == "right" {
        "pendulum@1.0.0#swing:left>right/executor_worker"
    } else {
        "pendulum@1.0.0#swing_back:right>left/executor_worker"
    }
}

type Statement<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// What the log and the outbox say of every move of the benchmark.
fn bind_the_rest(statement: Statement<'static>, m: &Move) -> Statement<'static> {
    statement
        .bind(m.principal.clone())
        .bind(m.actor_class.clone())
        .bind(m.trigger_kind.clone())
        .bind(m.trigger_ref.clone())
        .bind(m.evidence.to_string())
        .bind("pendulum.swung")
}

fn pendulum_move(run_id: Uuid, on_the_right: bool) -> Move {
    Move {
        run_id,
        run_kind: "custom".to_owned(),
        from: Some(if on_the_right { "right" } else { "left" }.to_owned()),
        to: if on_the_right { "left" } else { "right" }.to_owned(),
        actor_class: "executor_worker".to_owned(),
        trigger_kind: "rpc".to_owned(),
        trigger_ref: "swing".to_owned(),
        evidence: json!({ "note": "swing" }),
        principal: "bench".to_owned(),
        idempotency_key: Uuid::now_v7().to_string(),
        reason: None,
        signed: None,
    }
}
