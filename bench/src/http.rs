//! A move over HTTP beside the same move through the engine library, interleaved in one run, with the server and its loops at work all
//! the time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chancery_bench::{Server, say, tell};
use chancery_engine::run::{self, Actor, Request};
use chancery_server::Options;
use chancery_store::access::NewToken;
use chancery_store::managed::{Env, Home, secrets};
use chancery_store::{Role, Store};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, watch};
use uuid::Uuid;

use crate::ground::Ground;

const CLIENTS: usize = 8;
/// Connections for requests, as `chancery serve` has them.
const FOR_REQUESTS: u32 = 12;
const FOR_LOOPS: u32 = 6;
const RUNS: usize = 256;
const WARM_UP: usize = 12;
/// A move over HTTP is at least so much of one through the library.
const ASKED: f64 = 0.6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Library,
    Http,
}

/// Somebody who moves pendulums, one way or the other.
enum Hand {
    Library(Store),
    Http { stream: BufReader<TcpStream>, token: String },
}

impl Hand {
    async fn swing(&mut self, run: Uuid, on_the_right: bool) -> Result<()> {
        let (from, to) = if on_the_right { ("right", "left") } else { ("left", "right") };
        let key = Uuid::now_v7().to_string();
        match self {
            Self::Library(store) => {
                let request = Request {
                    from: Some(from.to_owned()),
                    actor_class: Some("executor_worker".to_owned()),
                    trigger: Some(("rpc".to_owned(), "swing".to_owned())),
                    idempotency_key: Some(key),
                    evidence: Some(json!({ "note": "swing" })),
                    reason: None,
                };
                let actor = Actor::new("bench", None);
                run::make_move(store, &actor, run, to, &request).await?;
            }
            Self::Http { stream, token } => {
                let body = json!({
                    "to": to, "from": from, "actor_class": "executor_worker",
                    "trigger": { "kind": "rpc", "name": "swing" }, "evidence": { "note": "swing" },
                })
                .to_string();
                let request = format!(
                    "POST /v1/runs/run_{}/moves HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
                     Idempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
                    run.simple(),
                    body.len()
                );
                stream.write_all(request.as_bytes()).await?;
                let (status, answer) = answer(stream).await?;
                ensure!(status == 200, "a move was answered with {status}: {answer}");
            }
        }
        Ok(())
    }
}

async fn answer(stream: &mut BufReader<TcpStream>) -> Result<(u16, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head).await? > 0, "the server closed the connection");
    }
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).context("a status")?;
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
        .context("a length")?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// What both sides work on.
struct Course {
    ground: Ground,
    /// Each run's side.
    on_the_right: Vec<bool>,
    address: SocketAddr,
    token: String,
}

impl Course {
    async fn hand(&self, side: Side, store: &Store) -> Result<Hand> {
        Ok(match side {
            Side::Library => Hand::Library(store.clone()),
            Side::Http => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                Hand::Http { stream: BufReader::new(stream), token: self.token.clone() }
            }
        })
    }

    /// Moves a second, and the 99th percentile in milliseconds.
    async fn slice(&mut self, side: Side, time: Duration) -> Result<(f64, f64)> {
        let store = Store::with_connections(&self.ground.target, Role::App, FOR_REQUESTS)?;
        let go = Arc::new(Barrier::new(CLIENTS + 1));
        let mut tasks = Vec::new();
        for client in 0..CLIENTS {
            let mut mine: Vec<(Uuid, bool)> = self
                .ground
                .runs
                .iter()
                .zip(&self.on_the_right)
                .skip(client)
                .step_by(CLIENTS)
                .map(|(run, right)| (*run, *right))
                .collect();
            let (mut hand, go) = (self.hand(side, &store).await?, Arc::clone(&go));
            tasks.push(tokio::spawn(async move {
                let (mut next, mut latencies) = (0, Vec::new());
                let mut until = None;
                loop {
                    if next == WARM_UP {
                        go.wait().await;
                        until = Some(Instant::now() + time);
                    }
                    if until.is_some_and(|until| Instant::now() >= until) {
                        return anyhow::Ok((mine, latencies));
                    }
                    let slot = next % mine.len();
                    let (run, right) = mine[slot];
                    let begun = Instant::now();
                    hand.swing(run, right).await?;
                    if until.is_some() {
                        latencies.push(begun.elapsed());
                    }
                    mine[slot].1 = !right;
                    next += 1;
                }
            }));
        }
        tokio::time::timeout(Duration::from_secs(60), go.wait()).await.context("a warm-up")?;
        let begun = Instant::now();
        let mut latencies = Vec::new();
        for (client, task) in tasks.into_iter().enumerate() {
            let (mine, mut times) = task.await??;
            latencies.append(&mut times);
            let slots = self.on_the_right.iter_mut().skip(client).step_by(CLIENTS);
            for (slot, (_, right)) in slots.zip(mine) {
                *slot = right;
            }
        }
        let elapsed = begun.elapsed().as_secs_f64();
        store.close().await;
        latencies.sort_unstable();
        let p99 = latencies.get(latencies.len().saturating_sub(1) * 99 / 100);
        #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark fit a double")]
        let a_second = latencies.len() as f64 / elapsed;
        Ok((a_second, p99.copied().unwrap_or_default().as_secs_f64() * 1e3))
    }
}

/// Measures, and fails when HTTP costs more than asked.
pub(crate) async fn measure(
    server: &Server,
    rounds: usize,
    time: Duration,
    quick: bool,
) -> Result<Value> {
    let ground = Ground::prepare(server, "bench_http", RUNS).await?;
    let operator = Store::open(&ground.target, Role::Migrator)?;
    let token = format!("chy_{}", Uuid::now_v7().simple());
    let scopes = ["run.read".to_owned(), "run.move".to_owned()];
    operator
        .fn_token_issue(&NewToken {
            token_id: Uuid::now_v7(),
            principal: "bench",
            label: "the benchmark",
            scopes: &scopes,
            seconds: 86_400,
            token_sha256: Sha256::digest(token.as_bytes()).into(),
            acted_by: None,
            by_token: None,
        })
        .await?;
    operator.close().await;
    let folder = tempfile::tempdir()?;
    let home = Home::resolve(Some(folder.path().to_owned()), &Env::default())?;
    let bound = chancery_server::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let address = bound.address();
    let (stop, asked) = watch::channel(false);
    let requests = Store::with_connections(&ground.target, Role::App, FOR_REQUESTS)?;
    let loops = Store::with_connections(&ground.target, Role::App, FOR_LOOPS)?;
    let host_token = secrets::ensure_token(&home)?;
    let options = Options { requests_a_minute: Some(u32::MAX), ..Options::default() };
    let serving = tokio::spawn(async move {
        chancery_server::serve(bound, requests, &loops, "bench", host_token, asked, options).await
    });

    let mut course = Course { on_the_right: vec![false; RUNS], ground, address, token };
    say("a round that nobody counts");
    for side in [Side::Library, Side::Http] {
        course.slice(side, time / 4).await?;
    }
    tell(&format!(
        "{:>5} | {:>9} {:>9} {:>5} | {:>8} {:>8}",
        "round", "library/s", "http/s", "ratio", "p99 lib", "p99 http"
    ));
    let mut figures = Vec::new();
    for round in 0..rounds {
        // Who goes first alternates: a drift of the machine meets both.
        let mut sides = [Side::Library, Side::Http];
        if round % 2 == 1 {
            sides.reverse();
        }
        let (mut library, mut http) = ((0.0, 0.0), (0.0, 0.0));
        for side in sides {
            let slice = course.slice(side, time).await?;
            *(if side == Side::Library { &mut library } else { &mut http }) = slice;
        }
        let ratio = http.0 / library.0;
        tell(&format!(
            "{round:>5} | {:>9.0} {:>9.0} {ratio:>5.2} | {:>8.2} {:>8.2}",
            library.0, http.0, library.1, http.1
        ));
        figures.push((ratio, library, http));
    }
    stop.send_replace(true);
    serving.await??;
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, library, http) = figures[figures.len() / 2];
    tell(&format!(
        "a move over HTTP / through the library at {CLIENTS} clients: {ratio:.2} (asked: {ASKED})"
    ));
    ensure!(quick || ratio >= ASKED, "a move over HTTP costs more than asked: {ratio:.2}");
    Ok(json!({
        "what": "http", "clients": CLIENTS, "ratio": ratio, "library_per_second": library.0, "http_per_second": http.0,
        "library_p99_ms": library.1, "http_p99_ms": http.1, "ratios": figures.iter().map(|one| one.0).collect::<Vec<_>>(),
    }))
}
