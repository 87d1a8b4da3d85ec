//! Moves that people sign, which the database verifies: how many a second, and how long the slowest of a hundred takes.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use chancery_bench::{Server, tell};
use chancery_engine::identity::OwnKey;
use chancery_engine::run::{self, Actor, Request};
use chancery_store::{Role, Store};
use chancery_testkit::keys;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ground::Ground;

/// Clients, each in turn; the bar is for as many as the server has cores, here two.
const CLIENTS: [usize; 3] = [1, 2, 8];
const ASKED_PER_SECOND: f64 = 100.0;
const ASKED_P99_MS: f64 = 40.0;

/// Measures, and fails when two clients make fewer moves, or slower ones, than asked.
pub(crate) async fn measure(server: &Server, time: Duration, quick: bool) -> Result<Value> {
    let ground = Ground::prepare(server, "bench_signed", CLIENTS[2]).await?;
    let operator = Store::open(&ground.target, Role::Migrator)?;
    operator.fn_principal_add("ana", "human", &["executor_worker".to_owned()], None).await?;
    let key_id = keys::register(&operator, "ana").await;
    operator.close().await;
    let store = Store::open(&ground.target, Role::App)?;
    tell(&format!("{:>7} | {:>8} {:>8} {:>8}", "clients", "moves/s", "p50 ms", "p99 ms"));
    let mut figures = Vec::new();
    let mut on_the_right = vec![false; CLIENTS[2]];
    for clients in CLIENTS {
        let begun = Instant::now();
        let swings = ground.runs.iter().zip(&mut on_the_right).take(clients);
        let tasks: Vec<_> = swings
            .map(|(&run, right)| {
                tokio::spawn(client(store.clone(), key_id, run, *right, begun + time))
            })
            .collect();
        let mut times = Vec::new();
        for (task, right) in tasks.into_iter().zip(&mut on_the_right) {
            let (mine, ended_right) = task.await??;
            times.extend(mine);
            *right = ended_right;
        }
        let per_second = times.len() as f64 / begun.elapsed().as_secs_f64();
        times.sort_unstable();
        let at = |share: usize| {
            times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3
        };
        let (p50, p99) = (at(50), at(99));
        tell(&format!("{clients:>7} | {per_second:>8.0} {p50:>8.1} {p99:>8.1}"));
        figures.push(
            json!({ "clients": clients, "per_second": per_second, "p50_ms": p50, "p99_ms": p99 }),
        );
        ensure!(
            quick || clients != 2 || (per_second >= ASKED_PER_SECOND && p99 <= ASKED_P99_MS),
            "asked of 2 clients: {ASKED_PER_SECOND} signed moves a second, 99 of 100 within {ASKED_P99_MS} ms"
        );
    }
    store.close().await;
    Ok(json!({ "what": "signed moves", "figures": figures }))
}

/// One person's pendulum, swung until then; gives the time of each move, and where it hangs.
async fn client(
    store: Store,
    key_id: Uuid,
    run: Uuid,
    mut right: bool,
    until: Instant,
) -> Result<(Vec<Duration>, bool)> {
    let own = OwnKey { key_id, key: keys::signing_key("ana") };
    let actor = Actor::new("ana", Some(own));
    let request = Request {
        actor_class: Some("executor_worker".to_owned()),
        trigger: Some(("rpc".to_owned(), "swing".to_owned())),
        ..Request::default()
    };
    let mut times = Vec::new();
    while times.is_empty() || Instant::now() < until {
        let to = if right { "left" } else { "right" };
        let begun = Instant::now();
        run::make_move(&store, &actor, run, to, &request).await?;
        times.push(begun.elapsed());
        right = !right;
    }
    Ok((times, right))
}
