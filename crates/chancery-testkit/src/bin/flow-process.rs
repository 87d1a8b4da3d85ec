//! `flow-process loop|worker NAME HOME DATABASE`: what a replica of the loops or a worker does, in a process that a test can kill.
//!
//! It goes on until it is killed. A database that is away is tried again, and a refusal that a lost lease explains is passed over. Any
//! other, a deadlock too, ends the process with a message.

use std::time::Duration;

use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::queue::LeasedJob;
use chancery_store::workflow::{Lease, WorkReport};
use chancery_store::{Error, Role, Store, Target};
use chancery_testkit::workflows::{CLASS, HAND, LOOPS, digest};
use serde_json::{Value, json};

/// Lost leases, and jobs that somebody else settled or replaced.
const LATE: [&str; 3] = ["RE010", "RE011", "RW025"];
/// Between two looks at an empty list.
const PAUSE: Duration = Duration::from_millis(50);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, name, home, database] = arguments.as_slice() else {
        panic!("usage: flow-process loop|worker NAME HOME DATABASE");
    };
    let home = Home::resolve(Some(home.into()), &Env::default()).expect("a home");
    let path = std::env::var_os("PATH");
    let binaries =
        find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home)).expect("PostgreSQL");
    let cluster = Cluster::open(home, binaries, Options::default()).expect("a cluster");
    let target = Target::managed(&cluster).expect("a target").with_database(database);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let store = Store::with_connections(&target, Role::App, 1).expect("a store");
        loop {
            let pass = match what.as_str() {
                "loop" => pass_of_a_loop(&store).await,
                "worker" => pass_of_a_worker(&store, name).await,
                _ => panic!("loop or worker"),
            };
            match pass {
                Ok(true) => {}
                Ok(false) => tokio::time::sleep(PAUSE).await,
                Err(error) if is_away(&error) => tokio::time::sleep(PAUSE).await,
                Err(error) => panic!("{what} {name}: {error:?}"),
            }
        }
    });
}

/// What is due in workflows and timers; says whether there was anything.
async fn pass_of_a_loop(store: &Store) -> Result<bool, Error> {
    let mut moved = false;
    for run in store.fn_mow_next(20, LOOPS).await? {
        let turn = store.fn_mow_turn(run, LOOPS).await?;
        moved |= !turn.busy;
    }
    for timer in store.fn_timer_due(20, LOOPS).await? {
        moved |= store.fn_timer_fire(timer, LOOPS).await?.fired;
    }
    store.fn_leases_expire(LOOPS).await?;
    Ok(moved)
}

/// Some jobs, one after the other; says whether there were any.
async fn pass_of_a_worker(store: &Store, worker: &str) -> Result<bool, Error> {
    let jobs = store.fn_job_claim(CLASS, 3, worker, HAND).await?;
    for job in &jobs {
        match work(store, worker, job).await {
            Err(Error::Refused(refusal)) if LATE.contains(&refusal.code.as_str()) => {}
            done => done?,
        }
    }
    Ok(!jobs.is_empty())
}

/// As the parameters of the step say: it fails so often, then waits until a time, then is done.
async fn work(store: &Store, worker: &str, job: &LeasedJob) -> Result<(), Error> {
    let lease = Lease { job_id: job.job_id, lease_no: job.lease_no, worker, principal: HAND };
    let given = store.fn_work_begin(lease).await?;
    if given.nothing_to_do || given.held {
        return Ok(());
    }
    let with = given.input.as_ref().map_or(Value::Null, |input| input["with"].clone());
    let tries_before = i64::from(given.attempt.unwrap_or(1)) - 1;
    let (call, evidence, document) = if tries_before < with["fails"].as_i64().unwrap_or(0) {
        let failure = json!({ "classification": "transient", "failure_class": "unavailable" });
        ("executor_failure", failure, None)
    } else if with["until"].is_string() && given.waits.is_empty() {
        let gate = json!({ "facet": "waiting_time_gate", "until": with["until"] });
        ("step_wait", json!({ "facets": ["waiting_time_gate"], "waits": [gate] }), None)
    } else {
        let output = json!({ "by": worker });
        ("step_complete", json!({ "output_sha256": digest(&output) }), Some(output))
    };
    let report = WorkReport { call, evidence: &evidence, document: document.as_ref() };
    store.fn_work_report(lease, &report).await?;
    Ok(())
}

/// The server is down, is coming up, or has just gone.
fn is_away(error: &Error) -> bool {
    matches!(error, Error::Away(_) | Error::Managed(_))
}
