//! A step's move with its roll-up in a run of ten thousand steps and in one of ten, interleaved: it costs the same.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chancery_bench::{Server, say, tell};
use chancery_testkit::workflows::{CLERK, Flows, LOOPS, digest};
use serde_json::{Value, json};
use uuid::Uuid;

/// Steps of a chain; a long run is many chains side by side, so that a step has the same neighbours in both.
const CHAIN: usize = 10;
/// Definitions of these sizes are proposed, merged and started; the first is the long run.
const SIZES: [usize; 2] = [10_000, 20_000];
/// When it is to be seen that everything runs, and nothing is measured.
const FEW: [usize; 2] = [100, 200];
/// A step in the long run may cost so much more than one in the short run.
const ASKED: f64 = 1.3;
/// What is done to each step, in this order.
const MOVES: [&str; 6] = ["claim", "wait", "resume", "block", "unblock", "complete"];
/// Chains that nobody counts: plans and caches settle.
const WARM_UP: usize = 3;

/// What each move of one side took, by move; the last is the turn of the loop.
type Times = [Vec<Duration>; MOVES.len() + 1];

/// A run and the chain of it that is next.
struct Side {
    workflow: String,
    run: Uuid,
    chain: usize,
    chains: usize,
    times: Times,
}

/// Measures, and fails when the long run is dearer than asked.
pub(crate) async fn measure(server: &Server, rounds: usize, quick: bool) -> Result<Value> {
    let sizes = if quick { FEW } else { SIZES };
    let [steps, _] = sizes;
    let target = server.target("bench_workflows")?;
    target.migrate().await?;
    let flows = Flows::new(&target).await;
    let sizes = grown(&flows, sizes).await?;
    flows.install(&definition("short_one", CHAIN)).await;
    sqlx::raw_sql("vacuum analyze").execute(&flows.admin).await?;
    let mut short = Side::begin(&flows, "short_one", CHAIN).await?;
    let mut long = Side::begin(&flows, &format!("of_{steps}"), steps).await?;
    for round in 0..WARM_UP + rounds {
        if round == WARM_UP {
            for side in [&mut short, &mut long] {
                side.times = Times::default();
            }
        }
        // Who goes first alternates: a drift of the machine meets both.
        let mut sides = [&mut short, &mut long];
        if round % 2 == 1 {
            sides.reverse();
        }
        chains(&flows, sides).await?;
    }
    let [short_times, long_times] = [&short, &long].map(|side| side.medians());
    tell(&format!("{:>10} | {:>9} {:>9} {:>6}", "median µs", "10 steps", steps, "ratio"));
    let mut figures = Vec::new();
    for (n, name) in MOVES.iter().chain(&["turn"]).enumerate() {
        let ratio = long_times[n] / short_times[n];
        tell(&format!("{name:>10} | {:>9.0} {:>9.0} {ratio:>6.2}", short_times[n], long_times[n]));
        figures.push(json!({ "move": name, "short_us": short_times[n], "long_us": long_times[n], "ratio": ratio }));
    }
    let moves = |times: &[f64]| times[..MOVES.len()].iter().sum::<f64>();
    let ratio = moves(&long_times) / moves(&short_times);
    let turns = long_times[MOVES.len()] / short_times[MOVES.len()];
    let slowest = long.times[MOVES.len()].iter().max().copied().unwrap_or_default();
    tell(&format!(
        "the slowest turn in the long run, with the critical path in it: {:.1} ms",
        slowest.as_secs_f64() * 1e3
    ));
    tell(&format!(
        "all moves of a step, {steps} steps / {CHAIN}: {ratio:.2} × (asked: at most {ASKED})"
    ));
    tell(&format!("turn of the loop after a completion: {turns:.2} × (asked: at most {ASKED})"));
    let reads = reads(&flows, long.run, steps).await?;
    ensure!(
        quick || (ratio <= ASKED && turns <= ASKED),
        "a step costs more in a long run: {ratio:.2}, {turns:.2}"
    );
    Ok(
        json!({ "what": "workflows", "sizes": sizes, "moves": figures, "ratio": ratio, "turn_ratio": turns,
               "slowest_turn_ms": slowest.as_secs_f64() * 1e3, "reads_ms": reads }),
    )
}

/// Chains of human steps side by side.
fn definition(name: &str, steps: usize) -> Value {
    let key = |n: usize| format!("s{n}");
    let list: Vec<Value> = (0..steps)
        .map(|n| json!({ "key": key(n), "title": { "en": format!("Step {n}"), "vi": format!("Bước {n}") } }))
        .collect();
    let relations: Vec<Value> = (0..steps)
        .filter(|n| n % CHAIN > 0)
        .map(|n| json!({ "from": key(n - 1), "to": key(n) }))
        .collect();
    let start: Vec<String> = (0..steps).step_by(CHAIN).map(key).collect();
    json!({ "workflow": name, "title": { "en": name, "vi": name }, "start": start, "steps": list, "relations": relations })
}

/// What it takes to have a definition and a run of it.
async fn grown(flows: &Flows, sizes: [usize; 2]) -> Result<Vec<Value>> {
    tell(&format!(
        "{:>7} | {:>9} {:>9} {:>9} {:>9}",
        "steps", "propose", "merge", "start", "first"
    ));
    let mut figures = Vec::new();
    for size in sizes {
        say(&format!("a definition of {size} steps"));
        let installed = flows.install(&definition(&format!("of_{size}"), size)).await;
        let begun = Instant::now();
        let run = flows.start(&format!("of_{size}")).await;
        let start = begun.elapsed();
        let begun = Instant::now();
        flows.store.fn_mow_turn(run, LOOPS).await?;
        let first = begun.elapsed();
        let [propose, merge, start, first] =
            [installed.propose, installed.merge, start, first].map(|time| time.as_secs_f64());
        tell(&format!("{size:>7} | {propose:>8.2}s {merge:>8.2}s {start:>8.2}s {first:>8.2}s"));
        figures.push(json!({ "steps": size, "propose_s": propose, "merge_s": merge, "start_s": start, "first_turn_s": first }));
    }
    Ok(figures)
}

/// What is computed from all steps when somebody asks.
async fn reads(flows: &Flows, run: Uuid, steps: usize) -> Result<Value> {
    let millis = |begun: Instant| begun.elapsed().as_secs_f64() * 1e3;
    let begun = Instant::now();
    flows.store.fn_workflow_rollup_compute(run).await?;
    let rollup = millis(begun);
    let begun = Instant::now();
    flows.store.fn_workflow_downstream(run).await?;
    let downstream = millis(begun);
    let begun = Instant::now();
    flows.store.fn_workflow_run_snapshot(run).await?;
    let snapshot = millis(begun);
    tell(&format!(
        "of {steps} steps: roll-up computed in {rollup:.1} ms, what is held up in {downstream:.1} ms, the whole run in {snapshot:.1} ms"
    ));
    Ok(json!({ "rollup": rollup, "downstream": downstream, "snapshot": snapshot }))
}

impl Side {
    async fn begin(flows: &Flows, workflow: &str, steps: usize) -> Result<Self> {
        let run = flows.start(workflow).await;
        let mut side = Self {
            workflow: workflow.to_owned(),
            run,
            chain: 0,
            chains: steps / CHAIN,
            times: Times::default(),
        };
        side.settle(flows).await?;
        Ok(side)
    }

    /// Turns the loop until nothing is due in the run.
    async fn settle(&mut self, flows: &Flows) -> Result<()> {
        while flows.store.fn_mow_turn(self.run, LOOPS).await?.more {}
        Ok(())
    }

    /// The steps of the next chain, in a new run when there is none left.
    async fn next_chain(&mut self, flows: &Flows) -> Result<Vec<Uuid>> {
        if self.chain == self.chains {
            self.run = flows.start(&self.workflow).await;
            self.chain = 0;
            self.settle(flows).await?;
        }
        let keys: Vec<String> =
            (self.chain * CHAIN..(self.chain + 1) * CHAIN).map(|n| format!("s{n}")).collect();
        self.chain += 1;
        Ok(sqlx::query_scalar(
            "select s.step_run_id from workflow.step_run s where s.workflow_run_id = $1 and s.step_key = any ($2) order by array_position($2, s.step_key)",
        )
        .bind(self.run)
        .bind(keys)
        .fetch_all(&flows.admin)
        .await?)
    }

    fn medians(&self) -> [f64; MOVES.len() + 1] {
        self.times.clone().map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64() * 1e6
        })
    }

    /// One step from ready to completed, and what the loop makes of it.
    async fn step(&mut self, flows: &Flows, step: Uuid) -> Result<()> {
        let output = json!({ "done": true });
        for (n, name) in MOVES.iter().enumerate() {
            let (call, evidence, document) = match *name {
                "claim" => ("step_claim", json!({ "audit_ref": "bench" }), None),
                "wait" => (
                    "step_wait",
                    json!({ "facets": ["waiting_human"], "waits": [{ "facet": "waiting_human", "of": CLERK }] }),
                    None,
                ),
                "block" => (
                    "step_block",
                    json!({ "audit_ref": "bench", "block_reason": "missing_iu" }),
                    None,
                ),
                "unblock" => (
                    "blocker_resolved",
                    json!({ "audit_ref": "bench", "resolution_ref": "bench" }),
                    None,
                ),
                "complete" => (
                    "step_complete",
                    json!({ "audit_ref": "bench", "output_sha256": digest(&output) }),
                    Some(&output),
                ),
                _ => ("", Value::Null, None),
            };
            let taken = if call.is_empty() {
                let wait: Uuid = sqlx::query_scalar(
                    "select w.wait_id from workflow.wait w where w.run_id = $1 and w.resolved_at is null",
                )
                .bind(step)
                .fetch_one(&flows.admin)
                .await
                .context("a wait")?;
                let begun = Instant::now();
                flows.store.fn_wait_resolve(wait, &output, CLERK, "pic_human").await?;
                begun.elapsed()
            } else {
                let begun = Instant::now();
                flows.call(step, call, &evidence, document).await?;
                begun.elapsed()
            };
            self.times[n].push(taken);
        }
        let begun = Instant::now();
        flows.store.fn_mow_turn(self.run, LOOPS).await?;
        self.times[MOVES.len()].push(begun.elapsed());
        Ok(())
    }
}

/// A chain on each side, step by step in turn.
async fn chains(flows: &Flows, mut sides: [&mut Side; 2]) -> Result<()> {
    let mut steps = Vec::new();
    for side in &mut sides {
        steps.push(side.next_chain(flows).await?);
    }
    for n in 0..CHAIN {
        for (side, steps) in sides.iter_mut().zip(&steps) {
            side.step(flows, steps[n]).await?;
        }
    }
    Ok(())
}
