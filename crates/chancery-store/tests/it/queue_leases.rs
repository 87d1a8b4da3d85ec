//! Leases: who has a job, until when, and whose word counts.

use chancery_model::refusal::Code::*;
use chancery_store::Role;
use chancery_store::queue::{JobFilter, JobOutcome, NewJob};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::queue_world::{WORKER, Yard, done, failed, job, result};
use crate::session::Session;
use crate::support::codes;

/// EVT-3: the most urgent lane first, in a lane the oldest first; what is not due does not run.
#[tokio::test]
async fn jobs_run_by_urgency_and_age_and_not_before_their_time() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let with = |key: &str, priority: i32, delay_ms: i64| NewJob {
        priority: Some(priority),
        delay_ms: Some(delay_ms),
        ..job(key)
    };
    yard.enqueue(&[with("late", 5, 60_000), with("c", 100, 0), with("d", 100, 0), with("a", 1, 0)])
        .await
        .expect("jobs");
    yard.enqueue(&[with("b", 1, 0)]).await.expect("a job");
    yard.later(10).await;
    let mut order = Vec::new();
    for _ in 0..5 {
        for leased in yard.claim(1).await {
            order.push(yard.row(leased.job_id).await.idempotency_key);
        }
    }
    assert_eq!(order, ["a", "b", "c", "d"]);
    // Also inside of one claim.
    yard.enqueue(&[with("f", 100, 0), with("e", 1, 0), with("g", 100, 0)]).await.expect("jobs");
    let together = yard.claim(5).await;
    let order: Vec<&str> = together.iter().map(|job| job.correlation_id.as_str()).collect();
    assert_eq!(order, ["e", "f", "g"]);
    yard.later(59_990 - 1).await;
    assert_eq!(yard.claim(5).await, [], "a millisecond early");
    yard.later(1).await;
    assert_eq!(yard.claim(5).await.len(), 1);
    // RFC 3339, and a time that has passed means at once.
    let past = NewJob { run_at: Some("2020-01-01T00:00:00Z".to_owned()), ..job("past") };
    yard.enqueue(&[past]).await.expect("a job");
    assert_eq!(yard.claim(5).await.len(), 1);
}

/// EVT-3, RE010, RE011: a result counts when it comes from who has the newest lease; the same again is answered the same; everything
/// else changes nothing and is named.
#[tokio::test]
async fn only_the_newest_lease_reports() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let id = yard.put("a").await;
    let old = yard.claim(1).await.remove(0);
    // Another worker, another number, no lease at all, no job at all.
    let mut wrong = done(&old);
    wrong.lease_no += 1;
    let unknown = chancery_store::queue::JobResult { job_id: Uuid::now_v7(), ..done(&old) };
    let report = yard.unchanged(yard.ack_as("hall:2", &[done(&old)])).await;
    assert_eq!((report.accepted, report.replayed), (0, 0));
    assert_eq!(report.refused[0].code, RE010.as_str());
    assert_eq!(report.refused[0].state.as_deref(), Some("leased"));
    let report = yard.unchanged(yard.ack(&[wrong, unknown])).await;
    let found: Vec<_> = report.refused.iter().map(|late| late.code.as_str()).collect();
    assert_eq!(found, [RE010.as_str(), RE011.as_str()]);
    assert_eq!(report.refused[0].newest_lease_no, Some(1));

    // The lease runs out, somebody else gets the job: the first one is too late, with a success as with a failure.
    yard.later(31_000).await;
    assert_eq!(yard.claim(1).await, [], "it waits for its next try");
    yard.later(2_000).await;
    let new = yard.claim_as("hall:2", 1).await.remove(0);
    assert_eq!((new.job_id, new.lease_no, new.attempt), (id, 2, 2));
    for late in [done(&old), failed(&old, "late")] {
        let report = yard.unchanged(yard.ack(&[late])).await;
        assert_eq!((report.accepted, report.refused[0].newest_lease_no), (0, Some(2)));
    }
    assert_eq!(yard.ack_as("hall:2", &[done(&new)]).await.accepted, 1);
    assert_eq!(yard.state(id).await, "succeeded");
    let again = yard.unchanged(yard.ack_as("hall:2", &[done(&new)])).await;
    assert_eq!((again.accepted, again.replayed, again.refused.len()), (0, 1, 0));
    // A failure after the success is no repetition.
    let report = yard.unchanged(yard.ack_as("hall:2", &[failed(&new, "no")])).await;
    assert_eq!(report.refused[0].state.as_deref(), Some("succeeded"));
}

/// EVT-3, RE007, RE008: a batch of results that is wrong is refused as a whole; one late result in a batch is not the others' fault.
#[tokio::test]
async fn a_batch_of_results_is_whole_or_refused() {
    let yard = Yard::new().await;
    for key in ["a", "b", "c"] {
        yard.put(key).await;
    }
    let leased = yard.claim(3).await;
    let ids = leased.iter().map(|job| format!("'{}'", job.job_id)).collect::<Vec<_>>();
    let mut app = Session::open(&yard.db, Role::App).await;
    let one = &ids[0];
    let before = yard.db.fingerprint().await;
    for lists in [
        format!("array[{one}]::uuid[], array[1,1], array['succeeded'], array['{{}}']::jsonb[]"),
        format!("array[{one}]::uuid[], null, array['succeeded'], array['{{}}']::jsonb[]"),
        format!("array[{one}]::uuid[], array[1], null, array['{{}}']::jsonb[]"),
        format!("array[{one}]::uuid[], array[1], array['succeeded'], null"),
        format!("array[{one}]::uuid[], array[1], array['succeeded'], array[null]::jsonb[]"),
        format!("array[{one}]::uuid[], array[1], array['done'], array['{{}}']::jsonb[]"),
        "array[null]::uuid[], array[1], array['succeeded'], array['{}']::jsonb[]".to_owned(),
        "null, array[1], array['succeeded'], array['{}']::jsonb[]".to_owned(),
    ] {
        let call = format!("select queue.fn_job_ack('{WORKER}', 'hall', {lists})");
        assert_eq!(codes(app.run(&call).await), [RE007], "{lists}");
    }
    for detail in [json!({ "token": "t0p" }), json!({ "log": "x".repeat(17_000) }), json!([1])] {
        let wrong = result(&leased[1], JobOutcome::Succeeded, detail);
        let answer = yard.store.fn_job_ack(WORKER, "hall", &[done(&leased[0]), wrong]).await;
        let error = answer.expect_err("refused").to_string();
        assert!(error.contains(RE008.as_str()) && !error.contains("t0p"), "{error}");
    }
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");
    let mut late = done(&leased[1]);
    late.lease_no = 9;
    let twice = [done(&leased[0]), late, failed(&leased[2], "no"), done(&leased[0])];
    let report = yard.ack(&twice).await;
    assert_eq!((report.accepted, report.replayed, report.refused.len()), (2, 1, 1));
    assert_eq!(yard.state(leased[1].job_id).await, "leased");
}

/// EVT-3: a failed job waits longer each time, within the bounds of its policy, and is dead after its last try; the letter keeps the
/// whole story.
#[tokio::test]
async fn a_job_backs_off_and_dies_with_its_story() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let id = yard.put("a").await;
    // Five tries, from a second on, four times as long each time, less up to a quarter.
    for (attempt, longest) in [(1, 1_000), (2, 4_000), (3, 16_000), (4, 64_000)] {
        let leased = yard.claim(1).await.remove(0);
        assert_eq!((leased.attempt, leased.lease_no), (attempt, attempt));
        yard.ack(&[failed(&leased, &format!("try {attempt}"))]).await;
        assert_eq!(yard.state(id).await, "retry_waiting");
        let waits = yard.waits(id).await;
        assert!((longest * 3 / 4..=longest).contains(&waits), "{attempt}: {waits}");
        yard.later(waits - 1).await;
        assert_eq!(yard.claim(1).await, [], "before its time");
        yard.later(1).await;
    }
    let last = yard.claim(1).await.remove(0);
    assert_eq!(yard.ack(&[failed(&last, "  ")]).await.accepted, 1, "a worker without words");
    assert_eq!(yard.state(id).await, "dead_letter");
    let letter = yard.store.dead_letters(&filter()).await.expect("letters").remove(0);
    assert_eq!((letter.job_id, letter.classification.as_str()), (id, "attempts_exhausted"));
    assert_eq!((letter.reason.as_str(), letter.attempts), ("no reason given", 5));
    let told: Vec<(i64, &str, &str)> = letter.story["failures"]
        .as_array()
        .expect("failures")
        .iter()
        .map(|f| {
            let text = |key: &str| f[key].as_str().expect("a text");
            assert_eq!(text("worker"), format!("hall/{WORKER}"), "whose lease it was");
            (f["attempt"].as_i64().expect("a number"), text("classification"), text("reason"))
        })
        .collect();
    let expected = [
        (1, "failed", "try 1"),
        (2, "failed", "try 2"),
        (3, "failed", "try 3"),
        (4, "failed", "try 4"),
        (5, "failed", "no reason given"),
    ];
    assert_eq!(told, expected);
    // Its death stands in the log and in the outbox; the same report again is the same.
    assert_eq!(yard.events("job.dead_lettered").await, 1);
    let log = format!(
        "fsm.transition_log where run_id = '{id}' and to_state = 'dead_letter' and seq = 2"
    );
    assert_eq!(yard.db.count(&log).await, 1);
    let again = yard.unchanged(yard.ack(&[failed(&last, "  ")])).await;
    assert_eq!((again.accepted, again.replayed), (0, 1));
    yard.later(100_000_000).await;
    assert_eq!(yard.claim(1).await, [], "the dead do not run");
}

fn filter() -> JobFilter {
    JobFilter { limit: 100, ..JobFilter::default() }
}

/// EVT-3: jobs that fail together do not come back together.
#[tokio::test]
async fn jitter_spreads_the_next_tries_within_its_share() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let jobs: Vec<NewJob> = (0..200).map(|n| job(&format!("j{n}"))).collect();
    yard.enqueue(&jobs).await.expect("jobs");
    let leased = yard.claim(200).await;
    yard.ack(&leased.iter().map(|job| failed(job, "no")).collect::<Vec<_>>()).await;
    let spread: String = yard
        .one(
            "select concat_ws(' ', count(*), count(distinct w.ms) > 50, min(w.ms) >= 750, min(w.ms) < 800, max(w.ms) > 950, max(w.ms) <= 1000)
               from (select extract(epoch from scheduled_at - internal.now()) * 1000 as ms from queue.job_queue) w",
        )
        .await;
    assert_eq!(spread, "200 t t t t t");
}

/// EVT-3: a worker that is gone loses its job: to the next try, and in the end to the dead letters.
#[tokio::test]
async fn a_lease_that_runs_out_is_a_failed_try() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let twice = NewJob { max_attempts: Some(2), ..job("a") };
    let id = yard.enqueue(&[twice]).await.expect("a job")[0].job_id;
    yard.claim(1).await;
    yard.later(30_000).await;
    assert_eq!(yard.claim(1).await, []);
    assert_eq!(yard.state(id).await, "leased", "not before it has run out");
    yard.later(1_001).await;
    assert_eq!(yard.claim(1).await, []);
    let row = yard.row(id).await;
    assert_eq!((row.state.as_str(), row.attempts, row.lease_owner), ("retry_waiting", 1, None));
    assert_eq!(row.failures[0]["classification"], "lease_expired");
    assert_eq!(row.failures[0]["worker"], format!("hall/{WORKER}"));
    yard.later(1_000).await;
    assert_eq!(yard.claim(1).await.remove(0).attempt, 2);
    yard.later(31_002).await;
    assert_eq!(yard.claim(1).await, []);
    assert_eq!(yard.state(id).await, "dead_letter");
    let letter = yard.store.dead_letters(&filter()).await.expect("letters").remove(0);
    assert_eq!((letter.classification.as_str(), letter.attempts), ("lease_expired", 2));
    assert_eq!(letter.story["failures"].as_array().map(Vec::len), Some(2));
    assert_eq!(yard.events("job.dead_lettered").await, 1);
}

/// EVT-3: a worker that is at it keeps its lease; one that lost it is told.
#[tokio::test]
async fn a_lease_is_kept_by_who_has_it() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let [a, b] = [yard.put("a").await, yard.put("b").await];
    let leased = yard.claim(2).await;
    let leases: Vec<(Uuid, i32)> = leased.iter().map(|job| (job.job_id, job.lease_no)).collect();
    let extend = async |worker: &str, leases: &[(Uuid, i32)]| {
        yard.store.fn_job_extend(worker, "hall", leases).await.expect("an answer")
    };
    yard.later(20_000).await;
    assert_eq!(yard.unchanged(extend("hall:2", &leases)).await, Vec::<Uuid>::new());
    assert_eq!(extend(WORKER, &[(a, 1), (b, 7)]).await, [a]);
    assert_eq!([yard.state(a).await, yard.state(b).await], ["in_progress", "leased"]);
    yard.later(12_000).await;
    yard.claim(1).await;
    assert_eq!([yard.state(a).await, yard.state(b).await], ["in_progress", "retry_waiting"]);
    assert_eq!(extend(WORKER, &leases).await, [a], "the other one was lost");
    assert_eq!(yard.ack(&[done(&leased[0])]).await.accepted, 1);
}

/// EVT-3: what was leased and not begun goes back, as if nobody had tried; its old lease is void all the same.
#[tokio::test]
async fn a_worker_gives_back_what_it_did_not_begin() {
    let yard = Yard::new().await;
    let id = yard.put("a").await;
    let leased = yard.claim(1).await.remove(0);
    let release = async |worker: &str| {
        yard.store.fn_job_release(worker, "hall", &[(id, 1)]).await.expect("an answer")
    };
    assert_eq!(yard.unchanged(release("hall:2")).await, 0);
    assert_eq!(release(WORKER).await, 1);
    let row = yard.row(id).await;
    assert_eq!((row.state.as_str(), row.attempts), ("queued", 0));
    assert_eq!(yard.unchanged(release(WORKER)).await, 0, "again");
    assert_eq!(yard.unchanged(yard.ack(&[done(&leased)])).await.refused.len(), 1);
    let next = yard.claim_as("hall:2", 1).await.remove(0);
    assert_eq!((next.lease_no, next.attempt), (2, 1));
}

/// EVT-3: a turn records and leases in one transaction.
#[tokio::test]
async fn a_turn_reports_and_leases_at_once() {
    let yard = Yard::new().await;
    for key in ["a", "b", "c"] {
        yard.put(key).await;
    }
    let turn =
        async |results: &[_]| yard.store.fn_job_turn("noop", 2, WORKER, "hall", results).await;
    let (report, first) = turn(&[]).await.expect("a turn");
    assert_eq!((report.accepted, first.len()), (0, 2));
    let results: Vec<_> = first.iter().map(done).collect();
    let (report, second) = turn(&results).await.expect("a turn");
    assert_eq!((report.accepted, second.len()), (2, 1));
    let secret = result(&second[0], JobOutcome::Succeeded, json!({ "secret": 1 }));
    yard.put("d").await;
    assert_eq!(
        codes(yard.unchanged(turn(&[secret])).await),
        [RE008],
        "then nothing is leased either"
    );
    let (report, third) = turn(&results).await.expect("a turn");
    assert_eq!((report.replayed, third.len()), (2, 1));
}

/// EVT-3: a single result counts the same, wherever its lists begin.
#[tokio::test]
async fn a_result_in_lists_that_begin_elsewhere_is_taken() {
    let yard = Yard::new().await;
    let mut app = yard.db.connect(Role::App).await;
    let ack = "select queue.fn_job_ack($1, 'hall', ('[7:7]={' || $2 || '}')::uuid[], $3::integer[], $4::text[], $5::jsonb[])";
    for (key, lease, outcome, detail) in [
        ("a", "{1}", "{succeeded}", "{\"{}\"}"),
        ("b", "[3:3]={1}", "{succeeded}", "[0:0]={\"{}\"}"),
        ("c", "{{1}}", "[2:2]={succeeded}", "{\"{}\"}"),
    ] {
        let id = yard.put(key).await;
        yard.claim(1).await;
        let report: Value = sqlx::query_scalar(ack)
            .bind(WORKER)
            .bind(id.to_string())
            .bind(lease)
            .bind(outcome)
            .bind(detail)
            .fetch_one(&mut app)
            .await
            .expect("a report");
        assert_eq!(report, json!({ "accepted": 1, "replayed": 0, "refused": [] }), "{key}");
    }
}

/// EVT-3: what a person takes back is not done: waiting, or under a worker's hands; the worker's result comes too late. It stands in
/// the log, and once taken back it stays so.
#[tokio::test]
async fn a_job_is_taken_back_also_from_a_worker() {
    let yard = Yard::new().await;
    let [held, waiting] = [yard.put("a").await, yard.put("b").await];
    let leased = yard.claim(1).await.remove(0);
    for id in [held, waiting] {
        let report = yard.cancel(id, "c").await.expect("cancelled");
        assert_eq!((&report["to"], &report["seq"]), (&json!("cancelled"), &json!(2)));
        let again = yard.unchanged(yard.cancel(id, "c")).await.expect("the same again");
        assert_eq!(again["replayed"], true);
        assert_eq!(codes(yard.unchanged(yard.cancel(id, "other")).await), [RS004]);
    }
    assert_eq!(yard.events("job.cancelled").await, 2);
    let late = yard.unchanged(yard.ack(&[done(&leased)])).await;
    assert_eq!(late.refused[0].state.as_deref(), Some("cancelled"));
    let kept = yard.store.fn_job_extend(WORKER, "hall", &[(held, 1)]).await.expect("an answer");
    assert_eq!((kept, yard.claim(5).await), (Vec::new(), Vec::new()));
    // The key stays used.
    assert!(yard.enqueue(&[job("a")]).await.expect("the same")[0].replayed);
}
