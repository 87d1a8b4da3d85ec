//! UIG-1, UIG-2, UIG-5, UIG-6, UIG-8: what is wrong now, by category and cause, as each reader may see it. Every problem here has a real
//! cause that was made through the doors.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chancery_model::refusal::Code::{RE040, RE041, RE043, RI040};
use chancery_store::Role;
use chancery_store::governance::{Issue, Problem, Problems, Tick};
use chancery_testkit::{TestDb, shipped};
use serde_json::json;
use sqlx::Executor as _;

use crate::cutter_world::World;
use crate::flow_moves::audited;
use crate::flow_world::{DESK, Flow, single};
use crate::governance_world::problem;
use crate::support::codes;

/// Each category with the view that the seed names for it.
const VIEWS: [(&str, &str); 8] = [
    ("dlq", "vw_governance_dlq_count"),
    ("silent_worker", "vw_governance_silent_workers"),
    ("overdue_step", "vw_governance_overdue"),
    ("schema_violation", "vw_governance_schema_violations"),
    ("event_lag", "vw_governance_event_lag"),
    ("integrity", "vw_governance_integrity_warnings"),
    ("failed_cut", "vw_governance_failed_cuts"),
    ("orphan_workflow", "vw_governance_orphan_workflows"),
];

async fn findings(db: &TestDb) {
    let machine = shipped().into_iter().find(|machine| machine.machine == "finding");
    db.definition(&machine.expect("the machine of findings")).await;
}

/// A database with a problem of each category.
async fn troubled() -> Flow {
    let world = World::on(TestDb::new().await).await;
    findings(&world.db).await;
    let document = world.document("policy", "POL").await;
    world.failed(&document, "cut").await;
    let flow = Flow::on(world.db).await;
    flow.dead("letter", 3).await;
    let late = flow.begun(single("late", json!({ "deadline": "1 minute" }))).await;
    let step = flow.claimed(late, "work").await;
    flow.block(step).await;
    let stuck = flow.begun(single("stuck", json!({}))).await;
    let step = flow.claimed(stuck, "work").await;
    let declared = audited(json!({ "declaration_ref": "D-1" }));
    flow.call(step, "declare_cannot_complete", declared, None, DESK).await.expect("declared");
    flow.turn().await;
    let nothing = json!({});
    let tick = Tick {
        worker_class: "lamp",
        worker: "lamp-1",
        ok: true,
        metadata: &nothing,
        principal: "chancery",
    };
    flow.store.fn_heartbeat_tick(&tick).await.expect("a tick");
    flow.store
        .fn_event_validation_record("letter.posted", "RE002", &json!({ "breaks": [] }))
        .await
        .expect("on record");
    let issue = Issue { issue_class: "integrity", ..problem("a") };
    flow.store.fn_log_issue(&issue).await.expect("a finding");
    // Everything that was emitted waits two minutes for its position, the step is past its deadline, and the lamp is out.
    flow.later(120_000).await;
    flow.store.fn_sequence_events(10_000).await.expect("positions");
    flow
}

fn count_of(problems: &Problems, category: &str) -> Option<i64> {
    let found = problems.categories.iter().find(|one| one.category == category);
    found.expect("all eight are always there").count
}

/// Every problem of a category, two at a time.
async fn listed(flow: &Flow, reader: &str, category: &str) -> Vec<Problem> {
    let mut items = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = flow
            .store
            .fn_problem_list(reader, category, None, after.as_deref(), Some(2))
            .await
            .expect("a page");
        assert!(page.items.len() <= 2);
        items.extend(page.items);
        after = page.next;
        if after.is_none() {
            return items;
        }
    }
}

/// UIG-1, UIG-2, UIG-8: all eight categories, counted and listed from one predicate, for readers who may see different ones.
#[tokio::test]
async fn counts_are_what_is_listed_for_each_reader() {
    let flow = troubled().await;
    // A class that may see neither dead letters nor integrity.
    let mut admin = flow.db.superuser().await;
    for statement in [
        "set role chancery_owner",
        "delete from identity.class_permission where actor_class = 'escalation_handler' and permission = 'problems.dlq'",
    ] {
        admin.execute(statement).await.expect("the owner may");
    }
    let expected = BTreeMap::from([
        ("dlq", 3),
        ("silent_worker", 1),
        ("overdue_step", 1),
        ("schema_violation", 1),
        ("integrity", 1),
        ("failed_cut", 1),
        ("orphan_workflow", 1),
    ]);
    for (reader, hidden) in
        [("guest", &[][..]), ("desk", &["integrity"]), ("esme", &["dlq", "integrity"])]
    {
        let problems = flow.store.fn_problems(reader).await.expect("what is wrong");
        assert_eq!(problems.categories.len(), 8);
        let mut total = 0;
        for (category, view) in VIEWS {
            let count = count_of(&problems, category);
            if hidden.contains(&category) {
                assert_eq!(count, None, "{reader} {category}");
                let list = flow.store.fn_problem_list(reader, category, None, None, None).await;
                assert_eq!(codes(list), [RI040], "{reader} {category}");
                let show = flow.store.fn_problem_show(reader, category, "x").await;
                assert_eq!(codes(show), [RI040], "{reader} {category}");
                continue;
            }
            let items = listed(&flow, reader, category).await;
            let page = flow
                .store
                .fn_problem_list(reader, category, None, None, None)
                .await
                .expect("a page");
            let grouped: i64 = page.groups.iter().map(|group| group.count).sum();
            let ids: std::collections::BTreeSet<&str> =
                items.iter().map(|item| item.item_id.as_str()).collect();
            assert_eq!(ids.len(), items.len(), "nothing comes twice");
            assert_eq!(count, Some(grouped), "{reader} {category}");
            assert_eq!(count, i64::try_from(items.len()).ok(), "{reader} {category}");
            let by_hand = format!("select count(*)::text from governance.{view}");
            assert_eq!(
                flow.db.text_as(Role::Auditor, &by_hand).await,
                count.unwrap_or_default().to_string(),
                "{view}"
            );
            if let Some(&number) = expected.get(category) {
                assert_eq!(count, Some(number), "{category}: {items:?}");
            }
            for item in &items {
                let shown = flow.store.fn_problem_show(reader, category, &item.item_id).await;
                let shown = shown.expect("one problem");
                assert_eq!(
                    (&shown.problem.item_id, &shown.problem.cause),
                    (&item.item_id, &item.cause)
                );
                assert!(item.title_en != item.title_vi && !item.title_vi.contains('{'), "{item:?}");
            }
            total += count.unwrap_or_default();
        }
        assert_eq!(problems.total, total, "{reader}");
        assert!(problems.headline_en.starts_with(&format!("{total} problems. Worst: ")));
        assert!(problems.headline_vi.starts_with(&format!("{total} vấn đề.")));
        let last = problems.categories.last().expect("a category");
        assert_eq!(last.hidden, !hidden.is_empty(), "what may not be seen comes last");
        assert_eq!(problems.worst.as_deref(), Some("critical"));
    }
    // Who may not see problems at all.
    assert_eq!(codes(flow.store.fn_problems("wanda").await), [RI040]);
    assert_eq!(codes(flow.store.fn_summary_list("wanda", None).await), [RI040]);
}

/// UIG-1, UIG-5, UIG-6: what a problem leads to, and that it is gone when its cause is.
#[tokio::test]
async fn a_problem_leads_to_its_finding_and_is_gone_with_its_cause() {
    let flow = troubled().await;
    let store = &flow.store;
    // The loops have looked: silence and lag are findings now, and still one problem each.
    store.fn_silent_check("chancery").await.expect("a look");
    store.fn_event_lag_record("chancery").await.expect("a look");
    let silent = listed(&flow, "guest", "silent_worker").await;
    assert_eq!(silent.len(), 1);
    assert_eq!(
        (silent[0].item_id.as_str(), silent[0].severity.as_str()),
        ("lamp/lamp-1", "critical")
    );
    let shown = store.fn_problem_show("guest", "silent_worker", "lamp/lamp-1").await.expect("it");
    let finding = shown.finding.expect("a finding");
    assert_eq!(finding["issue_type"], "worker_silent");
    assert_eq!(finding["history"][0]["to"], "open");
    let lag = listed(&flow, "guest", "event_lag").await;
    assert!(
        lag.iter().any(|one| one.item_id == "step/sequencer" && one.issue_id.is_some()),
        "{lag:?}"
    );

    // A step's timeline is that of its whole trace.
    let late = &listed(&flow, "guest", "overdue_step").await[0];
    assert_eq!(late.cause, "late/work/blocked");
    let shown = store.fn_problem_show("guest", "overdue_step", &late.item_id).await.expect("it");
    let kinds: Vec<&str> =
        shown.timeline.items.iter().map(|row| row.entity_kind.as_str()).collect();
    assert!(kinds.contains(&"workflow_run") && kinds.contains(&"step"), "{kinds:?}");
    let orphan = &listed(&flow, "guest", "orphan_workflow").await[0];
    assert_eq!(orphan.cause, "stuck/a_step_failed");

    // One of three dead letters is set aside.
    let letters = listed(&flow, "guest", "dlq").await;
    assert_eq!(letters[0].cause, "noop/test/permanent");
    let settled = letters[1].run_id.expect("a job");
    flow.dismiss(settled).await.expect("set aside");
    assert_eq!(listed(&flow, "guest", "dlq").await.len(), 2);
    let gone = flow.unchanged(store.fn_problem_show("guest", "dlq", &settled.to_string())).await;
    assert_eq!(codes(gone), [RE041]);
    // By cause: the others of the same cause, and none of another.
    let same = store.fn_problem_list("guest", "dlq", Some(&letters[0].cause), None, None).await;
    assert_eq!(same.expect("a page").items.len(), 2);
    let other = store.fn_problem_list("guest", "dlq", Some("another"), None, None).await;
    assert_eq!(other.expect("a page").items, []);

    // What cannot be asked.
    assert_eq!(codes(store.fn_problem_list("guest", "dead", None, None, None).await), [RE040]);
    for cursor in
        ["", "x", "W10", "WzEsMiwzLDRd", "WzFlNDAwLDEsIngiXQ", "WzksMSwieCJd", "\u{1F600}"]
    {
        let page = store.fn_problem_list("guest", "dlq", None, Some(cursor), None).await;
        assert_eq!(codes(page), [RE043], "{cursor:?}");
    }
    for limit in [0, -1, 501] {
        let page = store.fn_problem_list("guest", "dlq", None, None, Some(limit)).await;
        assert_eq!(codes(page), [RE043], "{limit}");
    }
}

/// UIG-1: nothing is wrong, and the page says so.
#[tokio::test]
async fn nothing_is_wrong() {
    let db = TestDb::new().await;
    let problems = db.store(Role::App).fn_problems("chancery").await.expect("an answer");
    assert_eq!(problems.headline_en, "No problems. Checked just now.");
    assert_eq!(problems.headline_vi, "Không có vấn đề. Vừa kiểm tra.");
    assert_eq!((problems.total, problems.worst), (0, None));
    let counts: Vec<Option<i64>> = problems.categories.iter().map(|one| one.count).collect();
    assert_eq!(counts, [Some(0); 8]);
}

/// The quickest of some tries, so that another process's work is not measured.
async fn quickest(mut act: impl AsyncFnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        act().await;
        best = best.min(begun.elapsed());
    }
    best
}

/// UIG-1: ten thousand dead letters beside a hundred, and a page of either.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figures, for who looks at them")]
async fn ten_thousand_problems_are_looked_at_quickly() {
    let db = TestDb::new().await;
    let store = db.store(Role::App);
    let letters = |from: i32, to: i32| {
        [
            format!(
                "insert into queue.job_queue (job_id, executor_class, job_kind, state, state_machine_id, seq, head_hash, scheduled_at, max_attempts,
                   idempotency_key, started_by, trace_id, correlation_id, created_at, last_transition_at)
                 select md5('j' || n)::uuid, 'noop', 'k', 'dead_letter', 'job@1.1.0', 2, '\\x00', 'infinity', 1, n::text, 'chancery', md5(n::text), 'c', now(), now()
                   from generate_series({from}, {to}) n"
            ),
            format!(
                "insert into queue.job_dead_letter (job_id, executor_class, job_kind, classification, reason, priority, attempts, max_attempts, lease_no,
                   payload, idempotency_key, story, started_by, trace_id, correlation_id, created_at, died_at, row_digest)
                 select md5('j' || n)::uuid, 'noop', 'k' || n % 7, 'permanent', 'no such file', 1, 1, 1, 1, '{{}}', n::text, '{{}}', 'chancery', md5(n::text), 'c',
                        now(), now() - n * interval '1 second', '\\x00' from generate_series({from}, {to}) n"
            ),
            "analyze queue.job_queue, queue.job_dead_letter".to_owned(),
        ]
    };
    let mut times = Vec::new();
    for (from, to) in [(1, 100), (101, 10_000)] {
        let statements = letters(from, to);
        db.forge(&statements.each_ref().map(String::as_str)).await;
        let page = quickest(async || {
            let page = store.fn_problem_list("chancery", "dlq", None, None, Some(50)).await;
            let page = page.expect("a page");
            assert_eq!(page.items.len(), 50);
            assert_eq!(page.groups.len(), 7);
        })
        .await;
        let whole = quickest(async || {
            let problems = store.fn_problems("chancery").await.expect("what is wrong");
            assert_eq!(problems.total, i64::from(to));
        })
        .await;
        times.push((page, whole));
    }
    let ratio = |few: Duration, many: Duration| many.as_secs_f64() / few.as_secs_f64();
    println!(
        "a page: {:?} of 100, {:?} of 10,000, ratio {:.1}; the overview: {:?} and {:?}, ratio {:.1}",
        times[0].0,
        times[1].0,
        ratio(times[0].0, times[1].0),
        times[0].1,
        times[1].1,
        ratio(times[0].1, times[1].1),
    );
    // A hundred times as many, and a plan that compares each with each would take ten thousand times as long.
    assert!(ratio(times[0].0, times[1].0) < 100.0 && times[1].0 < Duration::from_secs(3));
    assert!(ratio(times[0].1, times[1].1) < 100.0 && times[1].1 < Duration::from_secs(3));
}

/// UIG-1: what a person mistyped in the payload of a move of their own is told to them and stays on record, and is no problem that somebody has
/// to mend. What a program sends is, and so is an event that nobody declared.
#[tokio::test]
async fn a_typo_of_a_person_is_no_schema_violation() {
    let flow = Flow::on(TestDb::new().await).await;
    findings(&flow.db).await;
    flow.db.service("sender", &["executor_worker"]).await;
    let count = async || {
        let problems = flow.store.fn_problems("chancery").await.expect("problems");
        count_of(&problems, "schema_violation")
    };
    assert_eq!(count().await, Some(0));
    let record = async |code: &str, who: &str| {
        let facts = json!({ "principal": who, "breaks": [] });
        flow.store
            .fn_event_validation_record("letter.posted", code, &facts)
            .await
            .expect("a record")
    };
    record("RE002", "petra").await;
    assert_eq!(count().await, Some(0), "a person's typo");
    record("RE002", "sender").await;
    assert_eq!(count().await, Some(1), "what a program sends");
    record("RE001", "petra").await;
    assert_eq!(
        count().await,
        Some(2),
        "an event that is not registered is wrong whoever asks for it"
    );
    record("RE002", "somebody-unknown").await;
    assert_eq!(count().await, Some(3), "who is not known to be a person counts");
    assert_eq!(flow.db.count("event.event_validation_audit").await, 4, "all of it is on record");
}
