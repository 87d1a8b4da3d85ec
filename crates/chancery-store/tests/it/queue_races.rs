//! Crowds at the queue. Nobody sleeps: tests wait for what PostgreSQL says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use chancery_store::queue::{JobOutcome, JobResult, NewJob};
use chancery_store::{Role, Store};
use chancery_testkit::until;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use uuid::Uuid;

use crate::queue_world::{Yard, done, job};
use crate::session::{Isolation, Session, Watch};

fn jobs(prefix: &str, count: usize) -> Vec<NewJob> {
    (0..count).map(|n| job(&format!("{prefix}{n}"))).collect()
}

/// EVT-3: sixteen claimers get each job once, and none is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_gets_each_job_once() {
    let yard = Yard::new().await;
    yard.enqueue(&jobs("j", 2_000)).await.expect("jobs");
    let mut crowd = Vec::new();
    for n in 0..16 {
        let store = yard.db.store(Role::App);
        crowd.push(tokio::spawn(async move {
            let worker = format!("w{n}");
            let mut got = Vec::new();
            // A claim may come back with less than there is while others hold rows; an empty queue stays empty.
            let mut empty = 0;
            while empty < 3 {
                let leased = store.fn_job_claim("noop", 7, &worker, "hall").await.expect("a claim");
                empty = if leased.is_empty() { empty + 1 } else { 0 };
                got.extend(leased.into_iter().map(|job| (job.job_id, job.lease_no)));
            }
            got
        }));
    }
    let mut seen = BTreeSet::new();
    let mut total = 0;
    for claimer in crowd {
        for (job, lease_no) in claimer.await.expect("no panic") {
            assert_eq!(lease_no, 1);
            seen.insert(job);
            total += 1;
        }
    }
    assert_eq!((total, seen.len()), (2_000, 2_000));
}

/// EVT-3: claims, results, extensions, releases, cancellations and leases that run out, all at once: no deadlock, and every job ends
/// once: done, dead or cancelled. The clock runs fast, so that leases run out all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_busy_queue_loses_nothing_and_does_nothing_twice() {
    const JOBS: usize = 600;
    let yard = Yard::new().await;
    let operator = yard.db.store(Role::Migrator);
    operator.fn_retry_policy_put("brisk", 4, 1, 1.0, 5, 0.5, "Quick.").await.expect("a policy");
    operator
        .fn_executor_class_put("noop", "brisk", 1, 16_384, true, "Quick.")
        .await
        .expect("a class");
    // A second lasts twenty milliseconds.
    yard.as_superuser(
        "create or replace function internal.now() returns timestamptz language sql as
           'select timestamptz ''2026-01-01'' + (clock_timestamp() - timestamptz ''2026-01-01'') * 50'",
    )
    .await;
    let ids: Vec<Uuid> =
        yard.enqueue(&jobs("j", JOBS)).await.expect("jobs").iter().map(|j| j.job_id).collect();
    let ended = Arc::new(AtomicUsize::new(0));
    let mut crowd = Vec::new();
    for n in 0..8_u64 {
        let (store, ended) = (yard.db.store(Role::App), Arc::clone(&ended));
        crowd.push(tokio::spawn(async move {
            let mut rng = StdRng::seed_from_u64(n);
            let mut accepted = BTreeMap::new();
            while ended.load(Ordering::SeqCst) == 0 {
                work(&store, &format!("w{n}"), &mut rng, &mut accepted).await;
            }
            accepted
        }));
    }
    // One who takes a few back.
    let mut cancelled = BTreeSet::new();
    for id in ids.iter().step_by(37) {
        if yard.cancel(*id, "c").await.is_ok() {
            cancelled.insert(*id);
        }
    }
    let watch = Watch::new(&yard.db);
    until("every job has ended", || async {
        watch.count("select count(*) from queue.job_queue where state not in ('dead_letter', 'cancelled')").await == 0
    })
    .await;
    ended.store(1, Ordering::SeqCst);
    let mut successes: BTreeMap<Uuid, usize> = BTreeMap::new();
    for worker in crowd {
        for (job, count) in worker.await.expect("no deadlock, no error") {
            *successes.entry(job).or_default() += count;
        }
    }
    let finished = watch.count("select count(*) from queue.job_finished").await;
    let dead = watch.count("select count(*) from queue.job_dead_letter").await;
    let taken_back =
        watch.count("select count(*) from queue.job_queue where state = 'cancelled'").await;
    assert_eq!(usize::try_from(finished + dead + taken_back).expect("few"), JOBS);
    assert_eq!(taken_back as usize, cancelled.len());
    assert_eq!(
        successes.len() as i64,
        finished,
        "whose success was taken is done, and nobody else"
    );
    assert!(successes.values().all(|count| *count == 1), "once");
    assert_eq!(watch.count("select count(*) from (select job_id from queue.job_finished group by job_id having count(*) > 1) d").await, 0);
    assert!(finished > 0 && dead > 0, "{finished} done, {dead} dead");
}

/// One turn of a worker that does everything a worker can do, in any order.
async fn work(store: &Store, worker: &str, rng: &mut StdRng, accepted: &mut BTreeMap<Uuid, usize>) {
    let leased = store.fn_job_claim("noop", 9, worker, "hall").await.expect("a claim");
    let mut leases: Vec<(Uuid, i32)> =
        leased.iter().map(|job| (job.job_id, job.lease_no)).collect();
    if rng.gen_bool(0.5) {
        leases.reverse();
    }
    let mut results: Vec<JobResult> = Vec::new();
    let mut back = Vec::new();
    for job in &leased {
        match rng.gen_range(0..10) {
            0 => {} // forgotten: the lease runs out
            1 => back.push((job.job_id, job.lease_no)),
            2 | 3 => results.push(JobResult {
                outcome: JobOutcome::Failed,
                detail: json!({ "reason": "dice" }),
                ..done(job)
            }),
            _ => results.push(done(job)),
        }
    }
    let (kept, released, report) = tokio::join!(
        store.fn_job_extend(worker, "hall", &leases),
        store.fn_job_release(worker, "hall", &back),
        store.fn_job_ack(worker, "hall", &results),
    );
    kept.expect("extended");
    released.expect("released");
    let report = report.expect("a report");
    assert_eq!(
        report.accepted + report.replayed + report.refused.len() as u64,
        results.len() as u64,
        "each result has its answer"
    );
    let late: BTreeSet<Uuid> = report.refused.iter().map(|late| late.job_id).collect();
    for result in results.iter().filter(|r| r.outcome == JobOutcome::Succeeded) {
        if !late.contains(&result.job_id) {
            *accepted.entry(result.job_id).or_default() += 1;
        }
    }
}

/// EVT-3: a job that is enqueued again just while its result is recorded is not done twice: the second waits and is told.
#[tokio::test]
async fn a_key_that_is_asked_for_while_it_is_being_done_is_not_done_twice() {
    let yard = Yard::new().await;
    let watch = Watch::new(&yard.db);
    for commits in [true, false] {
        let key = format!("k{commits}");
        let id = yard.put(&key).await;
        let leased = yard.claim(1).await.remove(0);
        let mut worker = Session::open(&yard.db, Role::App).await;
        worker.begin(Isolation::ReadCommitted).await;
        worker
            .run(&format!(
                "select queue.fn_job_ack('hall:1', 'hall', array['{id}']::uuid[], array[{}], array['succeeded'], array['{{}}']::jsonb[])",
                leased.lease_no
            ))
            .await
            .expect("recorded");
        let mut asker = Session::open(&yard.db, Role::App).await;
        let pid = asker.pid;
        let again = tokio::spawn(async move {
            let jobs = json!([job(&key)]);
            sqlx::query_scalar::<_, serde_json::Value>(
                "select queue.fn_job_enqueue($1, 'desk', 'pic_human')",
            )
            .bind(jobs)
            .fetch_one(&mut asker.connection)
            .await
        });
        watch.until_blocked(pid).await;
        if commits {
            worker.commit().await.expect("the result holds");
        } else {
            worker.rollback().await;
        }
        let answer = again.await.expect("no panic").expect("an answer");
        assert_eq!(answer["jobs"][0]["replayed"], true, "committed: {commits}");
        assert_eq!(yard.state(id).await, if commits { "succeeded" } else { "leased" });
        assert_eq!(yard.db.count(&format!("queue.v_job where job_id = '{id}'")).await, 1);
    }
}

/// EVT-3: a job that commits late, behind where the lane is believed to begin, is found within the second that the belief lasts.
#[tokio::test]
async fn a_late_commit_behind_the_hint_is_found() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let mut late = Session::open(&yard.db, Role::App).await;
    late.begin(Isolation::ReadCommitted).await;
    late.run("select queue.fn_job_enqueue('[{\"class\":\"noop\",\"kind\":\"test\",\"key\":\"late\"}]', 'desk', 'pic_human')")
        .await
        .expect("enqueued");
    yard.later(10).await;
    yard.put("first").await;
    yard.later(60_000).await;
    assert_eq!(yard.claim(5).await.len(), 1, "the late one cannot be seen yet");
    late.commit().await.expect("committed");
    // The hint stands behind it, so nobody looks there yet.
    assert_eq!(yard.claim(5).await, []);
    yard.later(1_001).await;
    assert_eq!(yard.claim(5).await.len(), 1, "within the second");
}

/// EVT-3: who keeps the lane's hint to himself keeps nobody else from the jobs.
#[tokio::test]
async fn a_claim_that_hangs_hides_no_job() {
    let yard = Yard::new().await;
    yard.enqueue(&jobs("j", 3)).await.expect("jobs");
    let mut hung = Session::open(&yard.db, Role::App).await;
    hung.begin(Isolation::ReadCommitted).await;
    hung.run("select queue.fn_job_claim('noop', 1, 'hung', 'hall')").await.expect("a claim");
    let leased = yard.claim(5).await;
    assert_eq!(leased.len(), 2, "without waiting, all but the one");
    let results: Vec<JobResult> = leased.iter().map(done).collect();
    assert_eq!(yard.ack(&results).await.accepted, 2);
    hung.rollback().await;
    assert_eq!(yard.claim(5).await.len(), 1);
}

/// EVT-4: of two who propose the same letter at once one is told that it is open; of sixteen who run an approved batch one does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crowd_replays_once() {
    let yard = Arc::new(Yard::new().await);
    let ids = yard.dead("a", 5).await;
    let mut crowd = Vec::new();
    for n in 0..8 {
        let (yard, mut ids) = (Arc::clone(&yard), ids.clone());
        ids.rotate_left(n % 5);
        crowd.push(tokio::spawn(async move {
            yard.propose(Uuid::now_v7(), &ids, 0).await.map_err(|e| e.refusal().map(|r| r.code))
        }));
    }
    let mut made = Vec::new();
    for proposer in crowd {
        match proposer.await.expect("no panic") {
            Ok(batch) => made.push(batch),
            Err(code) => assert_eq!(code, Some(chancery_model::refusal::Code::RE015)),
        }
    }
    assert_eq!(made.len(), 1);
    let approval = yard.ask_for(&made[0]).await;
    yard.votes(approval, "rita", "approve").await.expect("a vote");
    let ran = Arc::new(AtomicI64::new(0));
    let mut crowd = Vec::new();
    for _ in 0..16 {
        let (yard, ran, batch) = (Arc::clone(&yard), Arc::clone(&ran), made[0].batch_id);
        crowd.push(tokio::spawn(async move {
            let answer = yard.replay(batch, approval).await.expect("an answer");
            ran.fetch_add(i64::from(!answer.replayed), Ordering::SeqCst);
        }));
    }
    for runner in crowd {
        runner.await.expect("no panic");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(yard.db.count("queue.job_queue where replay_request_id is not null").await, 5);
}
