//! Transitions a second through the engine against the same writes as one hand-written statement, interleaved in one run.

mod births;
mod ground;
mod held;
mod http;
mod layout;
mod signed;
mod units;
mod workflows;
mod workload;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use chancery_bench::{Server, say, tell};
use clap::Parser;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::ground::Ground;
use crate::workload::{Pendulums, Side, Slice, slice};

/// Measures the engine beside its limit.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seconds a slice.
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Interleaved rounds; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Clients, each in turn.
    #[arg(long, value_delimiter = ',', default_value = "1,8,32")]
    clients: Vec<usize>,
    /// Leave out the log of a million rows.
    #[arg(long)]
    empty_only: bool,
    /// Measure only single moves and batches of them.
    #[arg(long)]
    moves_only: bool,
    /// Measure only the writing of units.
    #[arg(long)]
    units_only: bool,
    /// Measure only the admission of rows.
    #[arg(long)]
    births_only: bool,
    /// Measure only the moves of steps in long and short runs of workflows.
    #[arg(long)]
    workflows_only: bool,
    /// Measure only the queue under a snapshot that is held for so many seconds.
    #[arg(long, value_name = "SECONDS")]
    held_only: Option<u64>,
    /// Measure only a move over HTTP beside the same through the library. Fails when it is slower than asked.
    #[arg(long)]
    http_only: bool,
    /// Measure only moves that people sign. Fails when they are fewer or slower than asked.
    #[arg(long)]
    signed_only: bool,
    /// Measure only the layout of workflows. Fails when it is slower than asked.
    #[arg(long)]
    layout_only: bool,
    /// Draw layouts of several shapes into a folder, and measure nothing.
    #[arg(long, value_name = "FOLDER")]
    layout_svg: Option<PathBuf>,
    /// One round with little: shows that everything runs, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Leave out the batches.
    #[arg(long)]
    single_only: bool,
    /// Where the figures go as JSON.
    #[arg(long, default_value = "bench/results/transitions.json")]
    json: PathBuf,
}

/// Runs a benchmark keeps, so that each client has its own at 32 clients in batches of 50.
const RUNS: usize = 3_200;

/// Turns a round.
const TURNS: usize = 4;

/// A database with its state of affairs: how full its log is, and where the pendulums hang on either side.
struct Course {
    log_rows: u64,
    ground: Ground,
    limit: Pendulums,
    engine: Pendulums,
}

impl Course {
    async fn prepare(server: &Server, log_rows: u64) -> Result<Self> {
        let ground = Ground::prepare(server, &format!("bench_{log_rows}"), RUNS).await?;
        if log_rows > 0 {
            say(&format!("filling a log with {log_rows} rows"));
            ground.fill().await?;
        }
        let hanging = Pendulums { on_the_right: vec![false; RUNS] };
        Ok(Self { log_rows, ground, limit: hanging.clone(), engine: hanging })
    }

    async fn pair(
        &mut self,
        clients: usize,
        batched: bool,
        time: Duration,
        engine_first: bool,
    ) -> Result<(Slice, Slice)> {
        if engine_first {
            let engine =
                slice(&self.ground, Side::Engine, clients, batched, time, &mut self.engine).await?;
            Ok((
                slice(&self.ground, Side::Limit, clients, batched, time, &mut self.limit).await?,
                engine,
            ))
        } else {
            let limit =
                slice(&self.ground, Side::Limit, clients, batched, time, &mut self.limit).await?;
            Ok((
                limit,
                slice(&self.ground, Side::Engine, clients, batched, time, &mut self.engine).await?,
            ))
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.rounds = 1;
        arguments.seconds = 0.2;
        arguments.clients = vec![2];
        arguments.empty_only = true;
    }
    let arguments = arguments;
    if let Some(folder) = &arguments.layout_svg {
        return layout::draw(folder);
    }
    if arguments.layout_only {
        let figures = layout::measure(arguments.rounds, arguments.quick)?;
        return keep(&arguments.json.with_file_name("layout.json"), &figures);
    }
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // Whichever comes first: the cluster is stopped when its measuring is dropped.
    tokio::select! {
        done = measure_with_a_cluster(arguments) => done,
        _ = terminated.recv() => anyhow::bail!("terminated before all was measured"),
        _ = interrupted.recv() => anyhow::bail!("interrupted before all was measured"),
    }
}

async fn measure_with_a_cluster(arguments: Arguments) -> Result<()> {
    let quick = arguments.quick;
    say("preparing a cluster with default durability (fsync on, data checksums)");
    let server = Server::start()?;
    if let Some(seconds) = arguments.held_only {
        let figures = held::measure(&server, Duration::from_secs(seconds), quick).await?;
        return keep(&arguments.json.with_file_name("held_snapshot.json"), &figures);
    }
    if arguments.http_only {
        let time = Duration::from_secs_f64(arguments.seconds);
        let figures = http::measure(&server, arguments.rounds, time, quick).await?;
        return keep(&arguments.json.with_file_name("http.json"), &figures);
    }
    if arguments.signed_only {
        let time = Duration::from_secs_f64(arguments.seconds);
        let figures = signed::measure(&server, time, quick).await?;
        return keep(&arguments.json.with_file_name("signed.json"), &figures);
    }
    if arguments.births_only {
        let figures = births::measure(&server, arguments.rounds, quick).await?;
        return keep(&arguments.json.with_file_name("births.json"), &figures);
    }
    if arguments.workflows_only {
        let rounds = if quick { 1 } else { arguments.rounds.max(20) };
        let figures = workflows::measure(&server, rounds, quick).await?;
        return keep(&arguments.json.with_file_name("workflows.json"), &figures);
    }
    let mut units = None;
    if !arguments.moves_only {
        units = Some(units::measure(&server, arguments.rounds, quick).await?);
    }
    if arguments.units_only {
        return Ok(());
    }
    let mut courses = vec![Course::prepare(&server, 0).await?];
    if !arguments.empty_only {
        courses.push(Course::prepare(&server, 1_000_000).await?);
    }
    let mut figures = measure(&mut courses, &arguments).await?;
    verdicts(&figures);
    figures.extend(units);
    keep(&arguments.json, &json!(figures))
}

fn keep(path: &Path, figures: &Value) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, serde_json::to_string_pretty(figures)?)?;
    say(&format!("figures are in {}", path.display()));
    Ok(())
}

async fn measure(courses: &mut [Course], arguments: &Arguments) -> Result<Vec<Value>> {
    let time = Duration::from_secs_f64(arguments.seconds);
    tell(&format!(
        "{:>9} {:>7} {:>6} | {:>8} {:>8} {:>5} | {:>8} {:>8} | {:>7} {:>7} | {:>7} {:>7}",
        "log rows",
        "clients",
        "mode",
        "limit/s",
        "engine/s",
        "ratio",
        "p99 lim",
        "p99 eng",
        "commits",
        "commits",
        "WAL lim",
        "WAL eng"
    ));
    let modes: &[bool] = if arguments.single_only { &[false] } else { &[false, true] };
    let mut figures = Vec::new();
    for &clients in &arguments.clients {
        let mut pairs = vec![vec![Vec::new(); courses.len()]; modes.len()];
        // The first turn is one that nobody counts: connections, caches and plans settle.
        for turn in 0..=arguments.rounds * TURNS {
            // Everything that is compared takes turns, and who goes first alternates: a drift of the machine meets all
            // of them. The turns are short, so that those of a round meet the same machine.
            for (&batched, pairs) in modes.iter().zip(&mut pairs) {
                for (course, pairs) in courses.iter_mut().zip(pairs) {
                    let time = time / u32::try_from(TURNS)?;
                    let pair = course.pair(clients, batched, time, turn % 2 == 0).await?;
                    if turn > 0 {
                        pairs.push(pair);
                    }
                }
            }
        }
        for (&batched, pairs) in modes.iter().zip(pairs) {
            for (course, mut pairs) in courses.iter().zip(pairs) {
                pairs.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
                let median = &pairs[pairs.len() / 2];
                let (limit, engine) = median;
                tell(&format!(
                    "{:>9} {clients:>7} {:>6} | {:>8.0} {:>8.0} {:>5.2} | {:>8.2} {:>8.2} | {:>7.2} {:>7.2} | {:>7.0} {:>7.0}",
                    course.log_rows,
                    if batched { "of 50" } else { "single" },
                    limit.per_second,
                    engine.per_second,
                    ratio(median),
                    limit.p99_ms,
                    engine.p99_ms,
                    limit.commits_a_move,
                    engine.commits_a_move,
                    limit.wal_bytes_a_move,
                    engine.wal_bytes_a_move,
                ));
                let mut speeds: Vec<f64> = pairs.iter().map(|pair| pair.1.per_second).collect();
                speeds.sort_by(f64::total_cmp);
                figures.push(json!({
                    "log_rows": course.log_rows, "clients": clients, "batched": batched, "limit": limit, "engine": engine,
                    "ratio": ratio(median), "ratios": pairs.iter().map(ratio).collect::<Vec<f64>>(),
                    "engine_median_per_second": speeds[speeds.len() / 2],
                }));
            }
        }
    }
    Ok(figures)
}

fn ratio(pair: &(Slice, Slice)) -> f64 {
    pair.1.per_second / pair.0.per_second
}

/// The three questions the table answers.
fn verdicts(figures: &[Value]) {
    tell("");
    let find = |log_rows: u64, clients: u64, batched: bool| {
        figures.iter().find(|f| {
            f["log_rows"] == log_rows && f["clients"] == clients && f["batched"] == batched
        })
    };
    let speed =
        |figure: Option<&Value>| figure.and_then(|f| f["engine_median_per_second"].as_f64());
    for clients in [1, 8, 32] {
        if let Some(figure) = find(0, clients, false) {
            tell(&format!(
                "engine / limit at {clients} clients: {:.2} (asked: 0.80)",
                figure["ratio"].as_f64().unwrap_or_default()
            ));
        }
        if let (Some(single), Some(batch)) =
            (speed(find(0, clients, false)), speed(find(0, clients, true)))
        {
            tell(&format!(
                "batches of 50 / single at {clients} clients: {:.1} (asked: 3)",
                batch / single
            ));
        }
        if let (Some(empty), Some(full)) =
            (speed(find(0, clients, false)), speed(find(1_000_000, clients, false)))
        {
            tell(&format!(
                "cost with a million log rows at {clients} clients: {:.2} × (asked: at most 1.15)",
                empty / full
            ));
        }
    }
}
