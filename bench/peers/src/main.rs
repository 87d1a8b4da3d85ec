//! Completed no-op jobs a second beside River and graphile_worker: same PostgreSQL, one run, interleaved rounds.

mod graphile;
mod river;
mod slice;
mod system;

use std::path::PathBuf;

use anyhow::Result;
use chancery_bench::{Server, say, tell};
use clap::Parser;
use serde_json::{Value, json};

use crate::graphile::Graphile;
use crate::river::River;
use crate::slice::{Slice, install, slice};
use crate::system::{Mode, System as _, WORKERS};

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
    /// One round with few jobs: shows that everything runs, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Where the figures go as JSON.
    #[arg(long, default_value = "bench/results/queue.json")]
    json: PathBuf,
}

#[derive(Debug, Clone, Copy)]
enum Contender {
    Graphile,
    River,
}

impl Contender {
    const ALL: [Self; 2] = [Self::Graphile, Self::River];

    const fn name(self) -> &'static str {
        match self {
            Self::Graphile => Graphile::NAME,
            Self::River => River::NAME,
        }
    }

    fn includes(self, mode: Mode) -> &'static str {
        match self {
            Self::Graphile => Graphile::includes(mode),
            Self::River => River::includes(mode),
        }
    }

    async fn install(self, server: &Server) -> Result<()> {
        match self {
            Self::Graphile => install::<Graphile>(server).await,
            Self::River => install::<River>(server).await,
        }
    }

    async fn slice(self, server: &Server, mode: Mode, jobs: u64) -> Result<Slice> {
        match self {
            Self::Graphile => Box::pin(slice::<Graphile>(server, mode, jobs)).await,
            Self::River => Box::pin(slice::<River>(server, mode, jobs)).await,
        }
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
    for contender in Contender::ALL {
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

async fn measure(server: &Server, mode: Mode, arguments: &Arguments) -> Result<Value> {
    let jobs = match mode {
        Mode::Unbatched => arguments.unbatched_jobs,
        Mode::Batched => arguments.batched_jobs,
    };
    let mut rounds: Vec<Vec<Slice>> = Contender::ALL.iter().map(|_| Vec::new()).collect();
    for round in 0..arguments.rounds {
        // Who goes first changes from round to round: a drift of the machine meets all of them.
        for turn in 0..Contender::ALL.len() {
            let who = (round + turn) % Contender::ALL.len();
            rounds[who].push(Contender::ALL[who].slice(server, mode, jobs).await?);
        }
    }
    tell(&format!("\n{} · {jobs} jobs · {WORKERS} workers", mode.name()));
    tell(&format!(
        "{:<16} {:>9} {:>19} {:>9} {:>9} {:>10}  includes",
        "system", "jobs/s", "lowest–highest", "commits", "WAL B", "filled/s"
    ));
    let mut systems = Vec::new();
    for (contender, slices) in Contender::ALL.into_iter().zip(&rounds) {
        let median = median(slices);
        let speeds = slices.iter().map(|slice| slice.per_second);
        let (low, high) = speeds
            .fold((f64::MAX, 0.0_f64), |(low, high), speed| (low.min(speed), high.max(speed)));
        tell(&format!(
            "{:<16} {:>9.0} {:>19} {:>9.3} {:>9.0} {:>10.0}  {}",
            contender.name(),
            median.per_second,
            format!("{low:.0}–{high:.0}"),
            median.commits_a_job,
            median.wal_bytes_a_job,
            median.filled_per_second,
            contender.includes(mode),
        ));
        systems.push(json!({
            "system": contender.name(), "median": median, "rounds": slices, "includes": contender.includes(mode),
        }));
    }
    Ok(json!({ "mode": mode.name(), "jobs": jobs, "workers": WORKERS, "systems": systems }))
}

/// The round in the middle by speed, whole: its other figures belong to it.
fn median(slices: &[Slice]) -> Slice {
    let mut sorted = slices.to_vec();
    sorted.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    sorted.swap_remove(sorted.len() / 2)
}
