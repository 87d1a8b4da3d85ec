//! Completed no-op jobs a second beside River and graphile_worker: same PostgreSQL, one run, interleaved rounds.

mod cpu;
mod graphile;
mod ours;
mod river;
mod slice;
mod system;

use std::path::PathBuf;

use anyhow::Result;
use chancery_bench::{Server, say, tell};
use clap::Parser;
use serde_json::{Value, json};

use crate::graphile::Graphile;
use crate::ours::Ours;
use crate::river::River;
use crate::slice::{Slice, install, slice};
use crate::system::{Mode, System as _};

/// Measures the queue beside its peers.
#[derive(Debug, Parser)]
struct Arguments {
    /// Interleaved rounds; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Jobs a slice without batches.
    #[arg(long, default_value_t = 6_000)]
    unbatched_jobs: u64,
    /// Jobs a slice with batches.
    #[arg(long, default_value_t = 40_000)]
    batched_jobs: u64,
    /// Only these systems, by their names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// One round with few jobs: shows that everything runs, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Where the figures go as JSON.
    #[arg(long, default_value = "bench/results/queue.json")]
    json: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contender {
    Ours,
    OursBare,
    Graphile,
    River,
}

/// Calls a function that is generic over the system for the contender at hand.
macro_rules! of {
    ($contender:expr, $system:ident => $call:expr) => {
        match $contender {
            Contender::Ours => {
                type $system = Ours<false>;
                $call
            }
            Contender::OursBare => {
                type $system = Ours<true>;
                $call
            }
            Contender::Graphile => {
                type $system = Graphile;
                $call
            }
            Contender::River => {
                type $system = River;
                $call
            }
        }
    };
}

impl Contender {
    const ALL: [Self; 4] = [Self::Ours, Self::OursBare, Self::Graphile, Self::River];

    fn chosen(only: &[String]) -> Vec<Self> {
        let chosen = |contender: &Self| {
            only.is_empty() || only.iter().any(|name| name.eq_ignore_ascii_case(contender.name()))
        };
        Self::ALL.into_iter().filter(chosen).collect()
    }

    fn name(self) -> &'static str {
        of!(self, S => S::NAME)
    }

    fn includes(self, mode: Mode) -> &'static str {
        of!(self, S => S::includes(mode))
    }

    const fn is_peer(self) -> bool {
        matches!(self, Self::Graphile | Self::River)
    }

    async fn install(self, server: &Server) -> Result<()> {
        of!(self, S => Box::pin(install::<S>(server)).await)
    }

    async fn slice(self, server: &Server, mode: Mode, jobs: u64) -> Result<Slice> {
        of!(self, S => Box::pin(slice::<S>(server, mode, jobs)).await)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        (arguments.rounds, arguments.unbatched_jobs, arguments.batched_jobs) = (1, 500, 2_000);
    }
    say("preparing a cluster with default durability (fsync on, data checksums)");
    let server = Server::start()?;
    for contender in Contender::chosen(&arguments.only) {
        contender.install(&server).await?;
    }
    let mut figures = Vec::new();
    for mode in Mode::ALL {
        figures.push(measure(&server, mode, &arguments).await?);
    }
    if let Some(folder) = arguments.json.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&arguments.json, serde_json::to_string_pretty(&figures)?)?;
    say(&format!("figures are in {}", arguments.json.display()));
    Ok(())
}

/// Everybody in turn, round after round. Who goes first changes: a drift of the machine meets all of them.
async fn measure(server: &Server, mode: Mode, arguments: &Arguments) -> Result<Value> {
    let jobs = match mode {
        Mode::Unbatched => arguments.unbatched_jobs,
        Mode::Batched => arguments.batched_jobs,
    };
    let contenders = Contender::chosen(&arguments.only);
    let mut rounds: Vec<Vec<Slice>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..arguments.rounds {
        for turn in 0..contenders.len() {
            let who = (round + turn) % contenders.len();
            rounds[who].push(contenders[who].slice(server, mode, jobs).await?);
        }
    }
    let medians: Vec<Slice> = rounds.iter().map(|slices| median(slices)).collect();
    let best_peer = contenders
        .iter()
        .zip(&medians)
        .filter(|(contender, _)| contender.is_peer())
        .map(|(_, slice)| slice.per_second)
        .fold(0.0, f64::max);
    tell(&format!("\n{} · {jobs} jobs · median of {} rounds", mode.name(), arguments.rounds));
    tell(&format!(
        "{:<16} {:>8} {:>15} {:>10} {:>8} {:>7} {:>9} {:>9} {:>9}  includes",
        "system",
        "jobs/s",
        "lowest–highest",
        "/best peer",
        "commits",
        "WAL B",
        "server µs",
        "client µs",
        "filled/s"
    ));
    let mut systems = Vec::new();
    for ((contender, slices), median) in contenders.into_iter().zip(&rounds).zip(&medians) {
        let (low, high) = slices
            .iter()
            .map(|slice| slice.per_second)
            .fold((f64::MAX, 0.0_f64), |(low, high), speed| (low.min(speed), high.max(speed)));
        let ratio = median.per_second / best_peer;
        tell(&format!(
            "{:<16} {:>8.0} {:>15} {:>10.2} {:>8.3} {:>7.0} {:>9.1} {:>9.1} {:>9.0}  {}",
            contender.name(),
            median.per_second,
            format!("{low:.0}–{high:.0}"),
            ratio,
            median.commits_a_job,
            median.wal_bytes_a_job,
            median.server_us_a_job,
            median.client_us_a_job,
            median.filled_per_second,
            contender.includes(mode),
        ));
        systems.push(json!({
            "system": contender.name(), "peer": contender.is_peer(), "ratio_to_best_peer": ratio, "median": median,
            "rounds": slices, "includes": contender.includes(mode),
        }));
    }
    Ok(json!({ "mode": mode.name(), "jobs": jobs, "systems": systems }))
}

/// The round in the middle by speed, whole: its other figures belong to it.
fn median(slices: &[Slice]) -> Slice {
    let mut sorted = slices.to_vec();
    sorted.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    sorted.swap_remove(sorted.len() / 2)
}
