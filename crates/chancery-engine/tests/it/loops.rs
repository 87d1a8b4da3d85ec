//! EVT-4: loops have one leader, go on when it ends, and live through a database that is away.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chancery_engine::loops::{Board, Done, LOOPS, Loop, Loops};
use chancery_store::queue::NewJob;
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, repo_path, until};
use tokio::sync::watch;

async fn with_jobs() -> TestDb {
    let db = TestDb::new().await;
    let machine =
        std::fs::read_to_string(repo_path("machines/job.yaml")).expect("the machine of jobs");
    db.machine(&machine).await;
    db
}

fn leads(board: &Board) -> usize {
    board.loops().iter().filter(|state| state.ok && state.leads).count()
}

/// One of two hosts leads each loop; when it ends in good order the other one leads, and nothing stays leased.
#[tokio::test]
async fn the_second_host_leads_when_the_first_ends() {
    let db = with_jobs().await;
    let store = db.store(Role::App);
    let (end_first, first_stop) = watch::channel(false);
    let first = Loops::start(LOOPS, &store, "first", &first_stop);
    let board = first.board();
    until("the first leads all loops", async || leads(&board) == LOOPS.len()).await;
    let (end_second, second_stop) = watch::channel(false);
    let second = Loops::start(LOOPS, &store, "second", &second_stop);
    let other = second.board();
    until("the second is well", async || other.loops().iter().all(|state| state.ok)).await;
    let everywhere = LOOPS.iter().filter(|one| !one.led).count();
    assert_eq!((leads(&board), leads(&other)), (LOOPS.len(), everywhere));

    end_first.send_replace(true);
    first.ended().await;
    until("the second leads all loops", async || leads(&other) == LOOPS.len()).await;
    drop(end_second);
    second.ended().await;
    let held = "select count(*)::text from queue.loop_lease where lease_until > internal.now()";
    assert_eq!(db.text(held).await, "0", "who ends gives its leases up");
}

/// A lease of a job that ran out is noticed though no worker asks for jobs.
#[tokio::test]
async fn a_lease_that_ran_out_is_seen_without_a_claim() {
    let db = with_jobs().await;
    let store = db.store(Role::App);
    let job = NewJob {
        class: "noop".to_owned(),
        kind: "trial".to_owned(),
        key: "k".to_owned(),
        ..NewJob::default()
    };
    store.fn_job_enqueue(&[job], "chancery", "system").await.expect("a job");
    let leased = store.fn_job_claim("noop", 1, "w", "chancery").await.expect("a claim");
    db.forge(&["create or replace function internal.now() returns timestamptz language sql
                as 'select clock_timestamp() + interval ''1 hour'''"])
        .await;
    let (end, stop) = watch::channel(false);
    let loops = Loops::start(LOOPS, &store, "host", &stop);
    until("the job waits for its next try", async || {
        let job = store.job(leased[0].job_id).await.expect("an answer").expect("the job");
        job.state == "retry_waiting" && job.failures[0]["classification"] == "lease_expired"
    })
    .await;
    end.send_replace(true);
    loops.ended().await;
}

static TRIES: AtomicU32 = AtomicU32::new(0);
static FLAKY: [Loop; 1] = [Loop {
    name: "flaky",
    led: true,
    every: Duration::from_millis(10),
    pass: |store| Box::pin(flaky(store)),
}];

async fn flaky(_: &Store) -> Result<Done, Error> {
    match TRIES.fetch_add(1, Ordering::Relaxed) {
        0..2 => Err(Error::Away("nobody answers".to_owned())),
        _ => Ok(Done { detail: "well".to_owned(), more: false }),
    }
}

/// A pass that fails is tried again, and the board says so meanwhile.
#[tokio::test]
async fn a_loop_goes_on_after_an_error() {
    let db = TestDb::new().await;
    let (end, stop) = watch::channel(false);
    let loops = Loops::start(&FLAKY, &db.store(Role::App), "host", &stop);
    let board = loops.board();
    until("the trouble shows", async || {
        board.loops().iter().any(|state| !state.ok && state.detail.contains("nobody answers"))
    })
    .await;
    until("it goes on", async || board.loops().iter().all(|state| state.ok)).await;
    assert!(TRIES.load(Ordering::Relaxed) >= 3);
    end.send_replace(true);
    loops.ended().await;
}
