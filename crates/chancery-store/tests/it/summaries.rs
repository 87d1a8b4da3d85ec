//! UIG-3: summaries and the four rules that bind them. Each is refused by the database, and then nothing has changed.

use chancery_model::refusal::Code::{
    RE004, RE044, RE045, RE046, RE047, RE048, RE049, RI040, RS012, RS013,
};
use chancery_store::governance::{Issue, IssueAnswer, Summary};
use chancery_store::queue::JobOutcome;
use chancery_store::{Error, Role};
use chancery_testkit::shipped;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::governance_world::problem;
use crate::queue_world::{Yard, done, result};
use crate::support::codes;

/// A queue with findings, and an agent that writes summaries.
async fn yard() -> Yard {
    let yard = Yard::new().await;
    let machine = shipped().into_iter().find(|machine| machine.machine == "finding");
    yard.db.definition(&machine.expect("the machine of findings")).await;
    let operator = yard.db.store(Role::Migrator);
    let classes = ["executor_worker".to_owned()];
    operator.fn_principal_add("scribe", "agent", &classes, None).await.expect("an agent");
    yard.stop_the_clock().await;
    yard
}

async fn at(yard: &Yard, minutes: i32) -> String {
    yard.db
        .text(&format!(
            "select internal.rfc3339(internal.now() + make_interval(mins => {minutes}))"
        ))
        .await
}

/// An agent's summary of the dead letters, in order but for what is said.
async fn said(yard: &Yard, state: &str, refs: &[String], more: Value) -> Value {
    let mut put = json!({
        "category": "dlq", "subject": "*", "state": state, "text_en": "Some letters are dead.", "text_vi": "Có vài thư chết.",
        "source_event_count": refs.len(), "source_event_refs": refs,
        "time_window": { "start_at": at(yard, -10).await, "end_at": at(yard, 0).await },
        "generated_by": { "summarizer_kind": "ai_agent", "summarizer_ref": "scribe", "summarizer_version": "7" },
        "confidence": 0.9,
    });
    for (field, value) in more.as_object().expect("fields") {
        put[field] = value.clone();
    }
    put
}

async fn put(yard: &Yard, put: &Value) -> Result<Summary, Error> {
    yard.store.fn_summary_put(put, "scribe", &Uuid::now_v7().to_string()).await
}

/// The code of a refusal, and why. That nothing changed is asked around many of them: a look at every table takes its time.
async fn refused(yard: &Yard, summary: &Value) -> (String, String) {
    let error = put(yard, summary).await.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    let facts = &refusal.problems[0].facts;
    let why = ["why", "field"].iter().find_map(|&key| facts.get(key)?.as_str()).unwrap_or_default();
    assert!(refusal.code == RS012 || facts["event_type"] == "status_summary", "{facts:?}");
    (refusal.code.as_str().to_owned(), why.to_owned())
}

/// UIG-3: a summary has its fields, rests on sources that exist and lie in its window, and an agent says how sure it is.
#[tokio::test]
async fn a_summary_without_evidence_is_refused() {
    let yard = yard().await;
    let refs: Vec<String> =
        yard.dead("letter", 2).await.iter().map(|job| format!("job:{job}")).collect();
    let many: Vec<String> = (0..101).map(|n| format!("job:{n}")).collect();
    let sure = |confidence: Value| json!({ "confidence": confidence });
    let by = |kind: &str| json!({ "generated_by": { "summarizer_kind": kind, "summarizer_ref": "scribe", "summarizer_version": "7" } });
    let before = yard.db.fingerprint().await;
    let no_such = format!("event:{}", Uuid::now_v7());
    for (more, code, why) in [
        (json!({ "score": 1 }), RE044, "summary"),
        (json!({ "category": "letters" }), RE044, "category"),
        (json!({ "subject": " " }), RE044, "subject"),
        (json!({ "state": "blue" }), RE044, "state"),
        (json!({ "text_en": "" }), RE044, "text_en"),
        (json!({ "text_vi": "a\nb" }), RE044, "text_vi"),
        (json!({ "facts": { "password": "x" } }), RE044, "facts"),
        (json!({ "generated_by": {} }), RE044, "generated_by"),
        (by("guess"), RE044, "generated_by"),
        // An agent does not pass for a rule, which nobody asks how sure it is.
        (by("deterministic_rule"), RE044, "summarizer_kind"),
        (by("sql_fn"), RE044, "summarizer_kind"),
        (
            json!({ "time_window": { "start_at": at(&yard, 0).await, "end_at": at(&yard, -1).await } }),
            RE044,
            "time_window",
        ),
        (
            json!({ "time_window": { "start_at": at(&yard, 0).await, "end_at": at(&yard, 60).await } }),
            RE044,
            "time_window",
        ),
        (json!({ "time_window": null }), RE044, "time_window"),
        (sure(json!(1.1)), RE044, "confidence"),
        (sure(json!("sure")), RE044, "confidence"),
        (sure(Value::Null), RE048, ""),
        (json!({ "trace_id": "x" }), RE044, "trace_id"),
        (json!({ "resolved_by": "x" }), RE044, "resolved_by"),
        (json!({ "source_event_refs": [] }), RE045, "no source is named"),
        (json!({ "source_event_refs": null }), RE045, "no source is named"),
        (
            json!({ "source_event_refs": many, "source_event_count": 101 }),
            RE045,
            "more than 100 are named; name the first 100 and give the total",
        ),
        (json!({ "source_event_refs": [1] }), RE045, "a source is a text"),
        (json!({ "source_event_refs": [refs[0], refs[0]] }), RE045, "a source is named twice"),
        (json!({ "source_event_count": 0 }), RE045, "the count is a whole number of at least 1"),
        (json!({ "source_event_count": 1.5 }), RE045, "the count is a whole number of at least 1"),
        (
            json!({ "source_event_count": 1 }),
            RE045,
            "the count is below the number of sources that are named",
        ),
        (
            json!({ "source_event_count": 3 }),
            RE045,
            "more are counted than named, and the total is missing",
        ),
        (
            json!({ "source_event_count": 3, "source_event_total": 2 }),
            RE045,
            "the total is below the count",
        ),
        (json!({ "source_event_refs": [refs[0], no_such] }), RE045, "a source does not exist"),
        (json!({ "source_event_refs": [refs[0], "log:x/1"] }), RE045, "a source does not exist"),
        (json!({ "source_event_refs": [refs[0], "letter:1"] }), RE045, "a source does not exist"),
        (
            json!({ "time_window": { "start_at": at(&yard, -10).await, "end_at": at(&yard, -5).await } }),
            RE046,
            "a source lies outside of the window",
        ),
    ] {
        let summary = said(&yard, "red", &refs, more).await;
        assert_eq!(
            refused(&yard, &summary).await,
            (code.as_str().to_owned(), why.to_owned()),
            "{summary}"
        );
    }
    for none in [json!([]), json!("red"), Value::Null] {
        assert_eq!(refused(&yard, &none).await.0, RE044.as_str());
    }
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed by any of them");

    // In order: it stands, once, whatever is sent twice.
    let summary =
        said(&yard, "red", &refs, json!({ "source_event_count": 500, "source_event_total": 500 }))
            .await;
    let first = yard.store.fn_summary_put(&summary, "scribe", "k").await.expect("put");
    assert_eq!(
        (first.source_event_total, first.low_confidence, first.confidence),
        (500, false, Some(0.9))
    );
    let again = yard.unchanged(yard.store.fn_summary_put(&summary, "scribe", "k")).await;
    assert_eq!(again.expect("the same"), first);
    let other = said(&yard, "yellow", &refs, json!({})).await;
    let reused = yard.unchanged(yard.store.fn_summary_put(&other, "scribe", "k")).await;
    assert_eq!(codes(reused), [RS012]);
    assert_eq!(codes(yard.store.fn_summary_put(&other, "scribe", " ").await), [RS013]);
    assert_eq!(codes(yard.store.fn_summary_put(&other, "desk", "d").await), [RI040]);

    // Drill-down: what it rests on, in order.
    let shown =
        yard.store.fn_summary_show("guest", first.summary_id, None, None).await.expect("it");
    let dead = shown.timeline.items.iter().filter(|row| row.to.as_deref() == Some("dead_letter"));
    assert_eq!(dead.count(), 2, "{:?}", shown.timeline);
    let unknown = yard.store.fn_summary_show("guest", Uuid::now_v7(), None, None).await;
    assert_eq!(codes(unknown), [RE049]);
    // Only what is about events and summaries goes among the refused events.
    let other = yard.store.fn_event_validation_record("status_summary", "RE040", &json!({})).await;
    assert_eq!(codes(other), [RE004]);
}

/// UIG-3, rules 2 and 3: a summary ends no problem by saying so, and one that is unsure ends none at all.
#[tokio::test]
async fn green_needs_the_event_of_an_end() {
    let yard = yard().await;
    let jobs = yard.dead("letter", 1).await;
    let refs = [format!("job:{}", jobs[0])];
    let green = |more: Value| said(&yard, "green", &refs, more);
    let why = async |summary: Value| refused(&yard, &summary).await;
    let unresolved = |why: &str| (RE047.as_str().to_owned(), why.to_owned());

    // The database itself sees the letter: nobody says otherwise, also not first.
    assert_eq!(
        why(green(json!({})).await).await,
        unresolved("the database still sees the problem")
    );
    // Unsure is said and flagged.
    let unsure = put(&yard, &said(&yard, "red", &refs, json!({ "confidence": 0.59 })).await).await;
    assert!(unsure.expect("put").low_confidence);
    yard.later(1000).await;
    let red = put(&yard, &said(&yard, "red", &refs, json!({})).await).await.expect("put");
    yard.later(1000).await;

    yard.dismiss(jobs[0]).await.expect("set aside");
    let event = yard.db.text("select event_id::text from event.event_outbox where event_type = 'job.dead_letter_resolved'").await;
    let death = yard
        .db
        .text(
            "select event_id::text from event.event_outbox where event_type = 'job.dead_lettered'",
        )
        .await;
    let other = yard
        .store
        .fn_log_issue(&Issue { issue_class: "integrity", ..problem("a") })
        .await
        .expect("a finding");
    yard.db.service("keeper", &["pic_human"]).await;
    let answer = IssueAnswer {
        issue_id: other.issue_id,
        reason: "looked at",
        principal: "keeper",
        actor_class: "pic_human",
        idempotency_key: "r",
        signed: None,
    };
    yard.store.fn_issue_resolve(&answer).await.expect("resolved");
    let elsewhere = yard
        .db
        .text("select event_id::text from event.event_outbox where event_type = 'finding.resolved'")
        .await;

    let before = yard.db.fingerprint().await;
    let nothing = "no event is named that ended the problem";
    let not_this = "the event did not end a problem of this subject after the summary before";
    let ended = |id: &str| json!({ "resolved_by": id });
    assert_eq!(why(green(json!({})).await).await, unresolved(nothing));
    assert_eq!(why(green(ended(&Uuid::now_v7().to_string())).await).await, unresolved(not_this));
    assert_eq!(
        why(green(ended(&death)).await).await,
        unresolved(not_this),
        "it did not end anything"
    );
    assert_eq!(
        why(green(ended(&elsewhere)).await).await,
        unresolved(not_this),
        "of another category"
    );
    let unsure = json!({ "resolved_by": event, "confidence": 0.3 });
    assert_eq!(
        why(green(unsure).await).await,
        unresolved("a summary of low confidence ends no problem")
    );

    assert_eq!(before, yard.db.fingerprint().await, "nothing changed by any of them");

    // With the event it is green, whether the event has its position yet or not.
    yard.store.fn_sequence_events(100).await.expect("positions");
    let summary = put(&yard, &green(ended(&event)).await).await.expect("green");
    assert_eq!(
        (summary.prior_summary_id, summary.resolved_by.map(|id| id.to_string())),
        (Some(red.summary_id), Some(event.clone()))
    );

    // Red again: the event of then ends nothing now.
    yard.later(1000).await;
    let again = yard.dead("another", 1).await;
    put(&yard, &said(&yard, "red", &[format!("job:{}", again[0])], json!({})).await)
        .await
        .expect("red");
    yard.later(1000).await;
    yard.dismiss(again[0]).await.expect("set aside");
    assert_eq!(
        why(green(ended(&event)).await).await,
        unresolved(not_this),
        "older than the summary before"
    );
}

/// UIG-3: the built-in summarizers write when something changed and not otherwise, and turn green by the event that heals.
#[tokio::test]
async fn summaries_are_written_when_something_changed() {
    let yard = yard().await;
    let store = &yard.store;
    let run = async || {
        yard.later(1000).await;
        store.fn_summaries_run("chancery").await.expect("a pass").written
    };
    assert_eq!(run().await, 0, "nothing happened");
    yard.put("good").await;
    yard.later(200).await;
    let leased = yard.claim(1).await;
    assert_eq!(yard.ack(&[done(&leased[0])]).await.accepted, 1);
    assert_eq!(run().await, 1);
    assert_eq!(
        yard.unchanged(store.fn_summaries_run("chancery")).await.expect("a pass").written,
        0
    );
    let newest = async |category: &str| {
        let mut list = store.fn_summary_list("guest", Some(category)).await.expect("summaries");
        assert_eq!(list.len(), 1, "{list:?}");
        list.remove(0)
    };
    let summary = newest("executors").await;
    assert_eq!((summary.subject.as_str(), summary.state.as_str()), ("noop", "green"));
    assert_eq!(summary.text_en, "OK, 1 jobs / 0 errors / lag 0.2 s p95");
    assert_eq!(summary.text_vi, "Tốt, 1 việc / 0 lỗi / trễ 0.2 s p95");
    assert_eq!(summary.generated_by.summarizer_kind, "sql_fn");
    assert_eq!(summary.source_event_refs, [format!("job:{}", leased[0].job_id)]);

    // A job dies: the category and the class are red.
    yard.put("bad").await;
    let leased = yard.claim(1).await;
    let dies = result(&leased[0], JobOutcome::FailedForGood, json!({ "reason": "no such file" }));
    assert_eq!(yard.ack(&[dies]).await.accepted, 1);
    assert_eq!(run().await, 2);
    let red = newest("dlq").await;
    assert_eq!((red.state.as_str(), red.text_en.as_str()), ("red", "Dead letters: 1, 1 critical"));
    assert_eq!(red.generated_by.summarizer_kind, "deterministic_rule");
    assert_eq!(newest("executors").await.state, "red");
    assert_eq!(run().await, 0, "nothing new");

    // It is set aside: both turn green, each by an event that names an end.
    yard.dismiss(leased[0].job_id).await.expect("set aside");
    yard.put("more").await;
    let leased = yard.claim(1).await;
    assert_eq!(yard.ack(&[done(&leased[0])]).await.accepted, 1);
    assert_eq!(run().await, 2);
    let green = newest("dlq").await;
    assert_eq!((green.state.as_str(), green.prior_summary_id), ("green", Some(red.summary_id)));
    let ended = |summary: &Summary| {
        let event = summary.resolved_by.expect("an event");
        format!("select event_type from event.event_outbox where event_id = '{event}'")
    };
    assert_eq!(yard.db.text(&ended(&green)).await, "finding.healed");
    let executors = newest("executors").await;
    assert_eq!(executors.state, "green");
    assert_eq!(yard.db.text(&ended(&executors)).await, "job.dead_letter_resolved");
    assert_eq!(run().await, 0);
    // The finding of the category is closed with it.
    assert_eq!(
        yard.db.count("governance.system_issues where state in ('open', 'acknowledged')").await,
        0
    );
}

/// UIG-3, rule 4: a row that an administrator turned green by hand is found, and stays found.
#[tokio::test]
async fn the_sentinel_finds_what_turned_green_by_hand() {
    let yard = yard().await;
    yard.dead("letter", 1).await;
    yard.store.fn_summaries_run("chancery").await.expect("a pass");
    yard.later(1000).await;
    let forged = "insert into governance.status_summary
        select (jsonb_populate_record(s, jsonb_build_object(
                  'summary_id', internal.uuid_v7(), 'state', 'green', 'idempotency_key', 'forged', 'created_at', internal.now()))).*
          from governance.status_summary s where s.category = 'dlq'";
    let audited = async || {
        let pins = chancery_engine::audit::Pins::default();
        let auditor = yard.db.store(Role::Auditor);
        let report =
            chancery_engine::audit::verify(&auditor, pins, |_| ()).await.expect("an audit");
        assert!(report.evidence["governance.status_summary"] > 0);
        report.mismatches.iter().map(|mismatch| mismatch.table.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(audited().await, Vec::<String>::new());
    assert_eq!(yard.db.forge(&[forged]).await, 1);
    // Copied with its digest, which does not fit what was changed.
    assert_eq!(audited().await, ["governance.status_summary"]);
    yard.later(1000).await;
    let pass = yard.store.fn_summaries_run("chancery").await.expect("a pass");
    assert_eq!(pass.found, 1);
    let page =
        yard.store.fn_problem_list("guest", "integrity", None, None, None).await.expect("a page");
    assert_eq!(page.items.len(), 1);
    assert_eq!(
        (page.items[0].cause.as_str(), page.items[0].severity.as_str()),
        ("summary_without_source", "critical")
    );
    assert_eq!(page.items[0].facts["evidence"]["was"], "red");
    yard.later(1000).await;
    assert_eq!(
        yard.store.fn_summaries_run("chancery").await.expect("a pass").found,
        0,
        "found once"
    );
    // Summaries of a category are for those who may see it.
    let seen = async |reader: &str| {
        let list = yard.store.fn_summary_list(reader, None).await.expect("summaries");
        list.into_iter().map(|summary| summary.category).collect::<Vec<_>>()
    };
    assert!(seen("guest").await.contains(&"integrity".to_owned()));
    assert!(!seen("desk").await.contains(&"integrity".to_owned()));
}
