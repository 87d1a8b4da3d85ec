//! UIG-3: an agent that writes summaries over HTTP and lies. The database refuses each lie, the refusal is on record, nothing else changes.

use chancery_engine::governance::summaries::{self, AskError};
use chancery_store::queue::{JobOutcome, JobResult, NewJob};
use chancery_store::{Role, Store};
use chancery_testkit::{TestDb, shipped};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_scene::Outside;

/// A job that died, and the agent who is to write about it.
async fn scene() -> (TestDb, Store, Uuid) {
    let db = TestDb::new().await;
    for machine in shipped() {
        if ["finding", "job", "dlq_replay"].contains(&machine.machine.as_str()) {
            db.definition(&machine).await;
        }
    }
    db.service("hall", &["executor_worker"]).await;
    let classes = ["executor_worker".to_owned()];
    let operator = db.store(Role::Migrator);
    operator.fn_principal_add("scribe", "agent", &classes, None).await.expect("an agent");
    let store = db.store(Role::App);
    let job: NewJob =
        serde_json::from_value(json!({ "class": "noop", "kind": "greet", "key": "k" }))
            .expect("a job");
    store.fn_job_enqueue(&[job], "hall", "executor_worker").await.expect("enqueued");
    let leased = store.fn_job_claim("noop", 1, "hall:1", "hall").await.expect("a claim");
    let dies = JobResult {
        job_id: leased[0].job_id,
        lease_no: leased[0].lease_no,
        outcome: JobOutcome::FailedForGood,
        detail: json!({ "reason": "no such file" }),
    };
    store.fn_job_ack("hall:1", "hall", &[dies]).await.expect("dead");
    (db, store, leased[0].job_id)
}

/// UIG-3: claims green, invents sources, leaves its confidence out, is unsure: each is refused and recorded.
#[tokio::test]
async fn a_lying_agent_changes_nothing() {
    let (db, store, job) = scene().await;
    let time = async |minutes: i32| {
        db.text(&format!(
            "select internal.rfc3339(internal.now() + make_interval(mins => {minutes}))"
        ))
        .await
    };
    let honest = json!({
        "category": "dlq", "subject": "*", "state": "red", "text_en": "One job is dead.", "text_vi": "Một việc đã chết.",
        "source_event_count": 1, "source_event_refs": [format!("job:{job}")],
        "time_window": { "start_at": time(-10).await, "end_at": time(0).await },
        "generated_by": { "summarizer_kind": "ai_agent", "summarizer_ref": "liar", "summarizer_version": "1" },
        "confidence": 0.9,
    });
    let with = |field: &str, value: Value| {
        let mut lie = honest.clone();
        lie[field] = value;
        lie
    };
    let invented = format!("event:{}", Uuid::now_v7());
    let lies = [
        (with("state", json!("green")), "RE047"),
        (with("source_event_refs", json!([invented])), "RE045"),
        (with("source_event_refs", json!([])), "RE045"),
        (with("confidence", Value::Null), "RE048"),
        (
            with("time_window", json!({ "start_at": time(-60).await, "end_at": time(-30).await })),
            "RE046",
        ),
        (with("mood", json!("fine")), "RE044"),
    ];
    let mut answers: Vec<(u16, String)> =
        lies.iter().map(|(lie, _)| (200, lie.to_string())).collect();
    answers.push((200, honest.to_string()));
    let answers: Vec<(u16, &str)> =
        answers.iter().map(|(status, body)| (*status, body.as_str())).collect();
    let liar = Outside::new(&answers);
    let facts = json!({ "category": "dlq", "dead": 1 });
    for (n, (_, code)) in lies.iter().enumerate() {
        let said = summaries::ask_ai(&liar.url, "s3cret", &facts).await.expect("an answer");
        let before = db.fingerprint().await;
        let refused = summaries::put(&store, &said, "scribe", &format!("lie {n}")).await;
        let refused = refused.expect_err("a refusal");
        assert_eq!(refused.refusal().map(|refusal| refusal.code.as_str()), Some(*code));
        // But for the record of the refusal, every row of every table is what it was.
        let besides = |digests: &str| {
            let lines =
                digests.lines().filter(|line| !line.starts_with("event.event_validation_audit "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(besides(&before), besides(&db.fingerprint().await), "{said}");
        let recorded = db.texts("select code from event.event_validation_audit where event_type = 'status_summary' order by audit_id").await;
        assert_eq!(recorded.len(), n + 1, "{recorded:?}");
        assert_eq!(recorded[n].as_deref(), Some(*code));
    }
    let (asked, sent) = (liar.got(), facts.to_string());
    assert!(
        asked.iter().all(|got| got.header("authorization") == "Bearer s3cret" && got.body == sent)
    );
    // An honest one stands, whoever lied before.
    let said = summaries::ask_ai(&liar.url, "s3cret", &facts).await.expect("an answer");
    let summary = summaries::put(&store, &said, "scribe", "honest").await.expect("put");
    assert_eq!((summary.state.as_str(), summary.put_by.as_str()), ("red", "scribe"));
}

/// An agent that gives no summary at all.
#[tokio::test]
async fn an_agent_without_an_answer() {
    let silent = Outside::new(&[(500, "{}"), (302, "{}"), (200, "[1]"), (200, "fine")]);
    for _ in 0..4 {
        let answer = summaries::ask_ai(&silent.url, "s3cret", &json!({})).await;
        assert!(matches!(answer, Err(AskError::NoSummary(_))), "{answer:?}");
    }
    let nobody = summaries::ask_ai("http://127.0.0.1:1/", "s3cret", &json!({})).await;
    assert!(matches!(nobody, Err(AskError::Unreachable(_))), "{nobody:?}");
    for (url, token) in [("http://127.0.0.1:1/", "s3\ncret"), ("no address", "s3cret")] {
        let answer = summaries::ask_ai(url, token, &json!({})).await.expect_err("no answer");
        assert!(!answer.to_string().contains("cret"), "{answer}");
    }
}
