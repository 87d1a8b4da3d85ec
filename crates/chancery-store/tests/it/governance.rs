//! Findings: opened, counted, answered and closed by moves, and by nothing else (EVT-3, UIG-1).

use chancery_engine::audit::{self, Pins};
use chancery_engine::governance::{Answer, acknowledge, resolve};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::run::Actor;
use chancery_model::refusal::Code::{
    RE020, RE021, RI001, RI003, RI008, RS004, RS006, RS012, RS013, RS015, RS018, RS026, RS027,
};
use chancery_store::governance::{Issue, IssueAnswer, IssueFilter, IssueReport};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::governance_world::{as_a_room, ask, events_of, governed, problem};
use crate::hardening::attempt;
use crate::session::{Isolation, Session, Watch};
use crate::support::{a_move, codes};

async fn open_issues(store: &Store) -> usize {
    store.issues(IssueFilter::default(), 100).await.expect("findings").len()
}

/// UIG-1: what is found again while it is open is counted, keeps its worst severity and shows the newest evidence.
#[tokio::test]
async fn the_same_problem_is_one_finding() {
    let (db, store) = governed().await;
    let first = store
        .fn_log_issue(&Issue { severity: "warn", evidence: &json!({ "try": 1 }), ..problem("a") })
        .await
        .expect("a finding");
    assert!(first.opened);
    assert_eq!((first.occurrence_count, first.severity.as_str()), (1, "warning"));
    for (severity, worst) in [("critical", "critical"), ("normal", "critical")] {
        let again = store
            .fn_log_issue(&Issue {
                severity,
                evidence: &json!({ "try": severity }),
                ..problem("a")
            })
            .await
            .expect("the same finding");
        assert_eq!((again.issue_id, again.opened), (first.issue_id, false));
        assert_eq!(again.severity, worst);
    }
    let other = store.fn_log_issue(&problem("b")).await.expect("another finding");
    assert_ne!(other.issue_id, first.issue_id);

    let rows = store.issues(IssueFilter::default(), 10).await.expect("findings");
    let found = rows.iter().find(|row| row.issue_id == first.issue_id).expect("it is listed");
    assert_eq!((found.occurrence_count, &found.evidence), (3, &json!({ "try": "normal" })));
    assert_eq!(rows.len(), 2);
    // One event each, although one was reported three times; the log keeps the evidence of the first.
    let opened = db.texts("select payload::text from event.event_outbox where event_type = 'finding.opened' order by outbox_id").await;
    assert_eq!(opened.len(), 2);
    let payload: Value =
        serde_json::from_str(opened[0].as_deref().expect("a payload")).expect("JSON");
    assert_eq!(
        payload,
        json!({ "issue_type": "trouble", "issue_class": "operation", "severity": "warning", "entity_type": "thing", "entity_code": "a" })
    );
    let log = db
        .text(&format!(
            "select evidence from fsm.transition_log where run_id = '{}'",
            first.issue_id
        ))
        .await;
    assert!(log.contains(r#""found":{"try":1}"#), "{log}");
    let counts = store.issue_counts().await.expect("counts");
    assert_eq!(counts.len(), 1);
    assert_eq!(
        (counts[0].issue_class.as_str(), counts[0].open, counts[0].critical),
        ("operation", 2, 1)
    );
}

/// UIG-1: a problem about nothing in particular is grouped by who says it and its title.
#[tokio::test]
async fn a_problem_without_a_subject_is_grouped_by_its_title() {
    let (_db, store) = governed().await;
    let about = |title| Issue { entity: None, title, ..problem("x") };
    let one = store.fn_log_issue(&about("disk is full")).await.expect("a finding");
    let two = store.fn_log_issue(&about("disk is slow")).await.expect("a finding");
    let again = store.fn_log_issue(&about("disk is full")).await.expect("counted");
    assert_ne!(one.issue_id, two.issue_id);
    assert_eq!((again.issue_id, again.occurrence_count), (one.issue_id, 2));
}

/// EVT-3: two who find the same at once make one finding with two occurrences, in whatever order they commit.
#[tokio::test]
async fn two_finders_at_once_make_one_finding() {
    let (db, store) = governed().await;
    let watch = Watch::new(&db);
    let log = "select governance.fn_log_issue('test', 'warning', 'trouble with a', null, 'thing', 'a', 'trouble', '{}', 'chancery')";
    let mut first = Session::open(&db, Role::App).await;
    first.begin(Isolation::ReadCommitted).await;
    first.run(log).await.expect("found first");
    let mut second = Session::open(&db, Role::App).await;
    let pid = second.pid;
    let waiting = tokio::spawn(async move {
        second.run(log).await.expect("found second");
    });
    watch.until_blocked(pid).await;
    first.commit().await.expect("the first commits");
    waiting.await.expect("the second goes on");
    let rows = store.issues(IssueFilter::default(), 10).await.expect("findings");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].occurrence_count, 2);
    assert_eq!(db.count("event.event_outbox where event_type = 'finding.opened'").await, 1);

    // A crowd, and an opener beside a closer: never two open ones, and nothing is lost.
    let tasks: Vec<_> = (0..12)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.fn_log_issue(&problem("crowd")).await.expect("found") })
        })
        .collect();
    let mut born = 0;
    for task in tasks {
        born += i32::from(task.await.expect("no panic").opened);
    }
    assert_eq!(born, 1);
    assert_eq!(db.text("select occurrence_count::text from governance.system_issues where entity_code = 'crowd'").await, "12");
}

/// EVT-3: a finding that is being closed while the same is found again is followed by a new one.
#[tokio::test]
async fn a_problem_found_while_it_is_closed_is_a_new_finding() {
    let (db, store) = governed().await;
    let old = store.fn_log_issue(&problem("a")).await.expect("a finding").issue_id;
    let watch = Watch::new(&db);
    let mut closer = Session::open(&db, Role::App).await;
    closer.begin(Isolation::ReadCommitted).await;
    closer
        .run(&format!(
            "select governance.fn_issue_resolve('{old}', 'mended', 'operator', 'pic_human', 'k')"
        ))
        .await
        .expect("closed");
    let mut finder = Session::open(&db, Role::App).await;
    let pid = finder.pid;
    let waiting = tokio::spawn(async move {
        finder
            .run("select governance.fn_log_issue('test', 'warning', 'trouble with a', null, 'thing', 'a', 'trouble', '{}', 'chancery')")
            .await
            .expect("found again");
    });
    watch.until_blocked(pid).await;
    closer.commit().await.expect("closed");
    waiting.await.expect("the finder goes on");
    let open = store.issues(IssueFilter::default(), 10).await.expect("findings");
    assert_eq!(open.len(), 1);
    assert_ne!(open[0].issue_id, old);
    assert_eq!(db.text(&format!("select state || ' ' || occurrence_count from governance.system_issues where issue_id = '{old}'")).await, "resolved 1");
}

/// EVT-3: a report that is sent twice with its key counts once; the key stands for nothing else.
#[tokio::test]
async fn a_key_counts_a_report_once() {
    let (db, store) = governed().await;
    let keyed = Issue { idempotency_key: Some("report-1"), ..problem("a") };
    let first = store.fn_log_issue(&keyed).await.expect("a finding");
    let before = db.fingerprint().await;
    let again = store.fn_log_issue(&keyed).await.expect("the first answer");
    assert!(again.replayed && !again.opened);
    assert_eq!((again.issue_id, again.occurrence_count), (first.issue_id, 1));
    let other = Issue { title: "something else", ..keyed.clone() };
    assert_eq!(codes(store.fn_log_issue(&other).await), [RS012]);
    let blank = Issue { idempotency_key: Some(" "), ..problem("a") };
    assert_eq!(codes(store.fn_log_issue(&blank).await), [RS013]);
    assert_eq!(before, db.fingerprint().await);
}

/// Bad input: what cannot be a finding is refused, names its field, and changes nothing.
#[tokio::test]
async fn a_malformed_report_is_refused() {
    let (db, store) = governed().await;
    let before = db.fingerprint().await;
    let secret = json!({ "deep": { "Token": "t0p" } });
    let (large, list) = (json!({ "text": "x".repeat(9_000) }), json!([1]));
    let (long, long_text) = ("x".repeat(501), "x".repeat(4_001));
    let good = problem("a");
    let cases = [
        ("source", Issue { source: " ", ..good.clone() }),
        ("severity", Issue { severity: "loud", ..good.clone() }),
        ("issue_type", Issue { issue_type: "No Word", ..good.clone() }),
        ("issue_class", Issue { issue_class: "weather", ..good.clone() }),
        ("title", Issue { title: "", ..good.clone() }),
        ("title", Issue { title: "two\nlines", ..good.clone() }),
        ("title", Issue { title: &long, ..good.clone() }),
        ("description", Issue { description: Some(&long_text), ..good.clone() }),
        ("entity", Issue { entity: Some(("thing", "")), ..good.clone() }),
        ("evidence", Issue { evidence: &list, ..good.clone() }),
        ("evidence", Issue { evidence: &large, ..good.clone() }),
        ("evidence", Issue { evidence: &secret, ..good.clone() }),
        ("trace_id", Issue { trace_id: Some("xyz"), ..good.clone() }),
    ];
    for (field, issue) in cases {
        let error = store.fn_log_issue(&issue).await.expect_err(field);
        let refusal = error.refusal().expect("a refusal");
        assert_eq!(refusal.code, RE021, "{field}");
        assert_eq!(refusal.problems[0].facts["field"], json!(field));
        assert!(!error.to_string().contains("t0p") && !format!("{refusal:?}").contains("t0p"));
    }
    let nobody = Issue { principal: "nobody", ..good.clone() };
    assert_eq!(codes(store.fn_log_issue(&nobody).await), [RI001]);
    let bystander = Issue { principal: "operator", ..good };
    assert_eq!(codes(store.fn_log_issue(&bystander).await), [RI003]);
    assert_eq!(before, db.fingerprint().await);
}

/// EVT-3: without its machine there is no finding, and the door says so.
#[tokio::test]
async fn without_a_machine_there_is_no_finding() {
    let db = TestDb::new().await;
    assert_eq!(codes(db.store(Role::App).fn_log_issue(&problem("a")).await), [RS018]);
    assert_eq!(db.count("governance.system_issues").await, 0);
}

fn answer<'a>(issue_id: Uuid, reason: &'a str, key: &'a str) -> IssueAnswer<'a> {
    IssueAnswer {
        issue_id,
        reason,
        principal: "operator",
        actor_class: "pic_human",
        idempotency_key: key,
        signed: None,
    }
}

/// UIG-1: a person takes a finding up and settles it with a reason; what is closed stays closed.
#[tokio::test]
async fn a_person_answers_a_finding() {
    let (db, store) = governed().await;
    let id = store.fn_log_issue(&problem("a")).await.expect("a finding").issue_id;
    let taken = store.fn_issue_acknowledge(&answer(id, "looking", "k1")).await.expect("taken up");
    assert_eq!((taken.state.as_str(), taken.replayed), ("acknowledged", false));
    let again = store.fn_issue_acknowledge(&answer(id, "looking", "k1")).await.expect("the same");
    assert!(again.replayed);
    assert_eq!(codes(store.fn_issue_acknowledge(&answer(id, "me too", "k2")).await), [RS004]);
    // Found again while somebody looks at it: counted, and still theirs.
    let counted = store.fn_log_issue(&problem("a")).await.expect("counted");
    assert_eq!((counted.state.as_str(), counted.occurrence_count), ("acknowledged", 2));

    let before = db.fingerprint().await;
    let blank = store.fn_issue_resolve(&answer(id, "  ", "k3")).await;
    assert_eq!(codes(blank), [RS006, RS027], "no reason, and no evidence in it");
    assert_eq!(codes(store.fn_issue_resolve(&answer(Uuid::nil(), "gone", "k3")).await), [RE020]);
    let other =
        IssueAnswer { principal: "chancery", actor_class: "reviewer", ..answer(id, "gone", "k3") };
    assert_eq!(codes(store.fn_issue_resolve(&other).await), [RI003]);
    assert_eq!(before, db.fingerprint().await);

    let done = store.fn_issue_resolve(&answer(id, "mended", "k3")).await.expect("settled");
    assert_eq!(done.state, "resolved");
    assert_eq!(codes(store.fn_issue_resolve(&answer(id, "once more", "k4")).await), [RS004]);
    assert_eq!(codes(store.fn_issue_acknowledge(&answer(id, "again", "k5")).await), [RS004]);
    assert_eq!(open_issues(&store).await, 0);
    assert_eq!(
        events_of(&db, id).await,
        ["finding.opened", "finding.acknowledged", "finding.resolved"]
    );
    let new = store.fn_log_issue(&problem("a")).await.expect("it is back");
    assert!(new.opened && new.issue_id != id);
}

/// SEC-1: a person's answer is signed with the person's key, and the audit verifies it.
#[tokio::test]
async fn a_persons_answer_is_signed() {
    let (db, store) = governed().await;
    let operator = db.store(Role::Migrator);
    operator
        .fn_principal_add("mai", "human", &["reviewer".to_owned()], None)
        .await
        .expect("a person");
    let id = store.fn_log_issue(&problem("a")).await.expect("a finding").issue_id;
    let unsigned =
        IssueAnswer { principal: "mai", actor_class: "reviewer", ..answer(id, "looking", "k") };
    assert_eq!(codes(store.fn_issue_acknowledge(&unsigned).await), [RI008]);

    let home = tempfile::tempdir().expect("a folder");
    let keystore = Keystore::below(home.path());
    new_key(&operator, &keystore, "mai", None).await.expect("a key");
    let mai = Actor::open(&store, &keystore, "mai").await.expect("her key");
    let says =
        |reason| Answer { issue_id: id, reason, actor_class: "reviewer", idempotency_key: None };
    acknowledge(&store, &mai, &says("looking")).await.expect("signed");
    let done = resolve(&store, &mai, &says("mended")).await.expect("signed");
    assert_eq!(done.state, "resolved");
    let report = audit::verify_log(&db.store(Role::Auditor), |_| ()).await.expect("an audit");
    assert!(report.mismatches.is_empty(), "{:?}", report.mismatches);
    assert_eq!(report.signatures, 2);
}

/// EVT-3: nobody closes a finding by hand, reopens it, counts it down, rewrites or removes it; the general door is no way round.
#[tokio::test]
async fn a_finding_is_not_written_by_hand() {
    let (db, store) = governed().await;
    let open = store.fn_log_issue(&problem("a")).await.expect("a finding").issue_id;
    let closed = store.fn_log_issue(&problem("b")).await.expect("a finding").issue_id;
    store.fn_issue_resolve(&answer(closed, "mended", "k")).await.expect("settled");
    let by_door = a_move(
        open,
        "resolved",
        "operator",
        "pic_human",
        "rpc:issue_resolve",
        json!({ "reason": "x" }),
    );
    let by_door = chancery_store::fsm::Move { run_kind: "finding".to_owned(), ..by_door };
    assert_eq!(codes(store.fn_state_transition_apply(&by_door).await), [RS026]);

    let before = db.fingerprint().await;
    let table = "governance.system_issues";
    let statements = [
        format!("update {table} set state = 'resolved' where issue_id = '{open}'"),
        format!("update {table} set state = 'open' where issue_id = '{closed}'"),
        format!(
            "update {table} set occurrence_count = 1, last_seen_at = first_seen_at where issue_id = '{open}'"
        ),
        format!(
            "update {table} set occurrence_count = occurrence_count + 1 where issue_id = '{closed}'"
        ),
        format!("update {table} set title = 'harmless' where issue_id = '{open}'"),
        format!("update {table} set entity_code = 'other' where issue_id = '{open}'"),
        format!("delete from {table} where issue_id = '{closed}'"),
        format!("truncate {table} cascade"),
        "delete from governance.issue_report".to_owned(),
    ];
    for role in ["chancery_definer", "chancery_owner"] {
        let mut admin = db.superuser().await;
        sqlx::query(sqlx::AssertSqlSafe(format!("set role {role}")))
            .execute(&mut admin)
            .await
            .expect("the superuser may");
        for statement in &statements {
            let code = attempt(&mut admin, statement).await;
            if statement.starts_with("delete from governance.issue_report") {
                continue; // nothing stands in it here; hardening has rows
            }
            let code = code.unwrap_or_else(|| panic!("{role}: {statement} went through"));
            assert!(
                ["42501", "RS015", "RS016", "RS017"].contains(&code.as_str()),
                "{role}: {statement}: {code}"
            );
        }
    }
    assert_eq!(before, db.fingerprint().await);
    let mut admin = db.superuser().await;
    let code = attempt(&mut admin, &statements[0]).await;
    assert_eq!(code.as_deref(), Some(RS015.as_str()), "a superuser meets the trigger too");
}

/// UIG-1: a room that knows that the cause is gone closes the finding with its reason and its event.
#[tokio::test]
async fn a_room_closes_what_it_opened() {
    let (db, store) = governed().await;
    let id = store.fn_log_issue(&problem("a")).await.expect("a finding").issue_id;
    let close = |how: &str, cause: &str, evidence: &str| {
        format!(
            "select governance.issue_close('trouble', 'thing', 'a', '{how}', {cause}, 'chancery', '{evidence}')::text"
        )
    };
    as_a_room(&db).await;
    assert_eq!(
        codes(ask(&db, &close("resolved", "null", "{}")).await),
        [RS006],
        "nothing says what made the cause go"
    );
    assert_eq!(
        codes(ask(&db, &close("healed", "'x'", "{}")).await),
        [RS006],
        "nothing was measured"
    );
    assert_eq!(
        codes(ask(&db, &close("acknowledged", "'x'", "{}")).await),
        [RS004],
        "only people acknowledge"
    );
    assert_eq!(open_issues(&store).await, 1);
    let replayed = close("resolved", "'job 7 was replayed'", "{}");
    assert_eq!(ask(&db, &replayed).await.expect("closed"), Some(id.to_string()));
    assert_eq!(ask(&db, &replayed).await.expect("an answer"), None, "there is none left");
    assert_eq!(events_of(&db, id).await, ["finding.opened", "finding.resolved"]);
}

/// EVT-3: each duty may report, and acts in its own class.
#[tokio::test]
async fn every_duty_reports_in_its_own_class() {
    let (db, _store) = governed().await;
    for (role, name, class) in [
        (Role::CutterExec, "executor", "executor_dot991"),
        (Role::CutterVerify, "verifier", "verifier_dot992"),
        (Role::CutterReview, "authority", "review_authority"),
    ] {
        db.service(name, &[class]).await;
        let issue = Issue { principal: name, ..problem(name) };
        let report: IssueReport = db.store(role).fn_log_issue(&issue).await.expect("a finding");
        let by = db
            .text(&format!(
                "select actor_class from fsm.transition_log where run_id = '{}'",
                report.issue_id
            ))
            .await;
        assert_eq!(by, class);
    }
}

/// AUD-1: what a finding was opened with, and where it stands, cannot be changed unnoticed behind the triggers' back. How often it
/// occurred since is no evidence: each report would have to be logged.
#[tokio::test]
async fn no_column_of_a_finding_can_be_changed_unnoticed() {
    let (db, store) = governed().await;
    let closed = store.fn_log_issue(&problem("a")).await.expect("a finding").issue_id;
    store.fn_issue_resolve(&answer(closed, "mended", "k")).await.expect("settled");
    let open = store
        .fn_log_issue(&Issue { description: Some("more"), ..problem("b") })
        .await
        .expect("a finding");
    let auditor = db.store(Role::Auditor);
    let found = async || {
        let report = audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit");
        report.mismatches
    };
    assert_eq!(found().await, []);
    let counted = ["severity", "evidence", "occurrence_count", "last_seen_at"];
    let columns = db
        .texts(
            "select attname || ' ' || atttypid::regtype::text from pg_attribute
              where attrelid = 'governance.system_issues'::regclass and attnum > 0",
        )
        .await;
    db.forge(&["create table public.kept as table governance.system_issues"]).await;
    let drop_checks = db
        .texts("select format('alter table governance.system_issues drop constraint %I', conname) from pg_constraint where conrelid = 'governance.system_issues'::regclass and contype = 'c'")
        .await;
    let mut admin = db.superuser().await;
    for statement in drop_checks.into_iter().flatten() {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&mut admin).await.expect("gone");
    }
    let mut tried = 0;
    for column in columns.into_iter().flatten() {
        let (column, kind) = column.split_once(' ').expect("a column and its type");
        if counted.contains(&column) {
            continue;
        }
        let value = match kind {
            "text" => format!("coalesce({column}, '') || 'x'"),
            "uuid" => "gen_random_uuid()".to_owned(),
            "smallint" | "bigint" => format!("{column} + 100"),
            "bytea" => "sha256('x')".to_owned(),
            "timestamp with time zone" => format!("{column} + interval '1 microsecond'"),
            other => panic!("say how to change {column}, which is {other}"),
        };
        for id in [closed, open.issue_id] {
            let change = format!(
                "update governance.system_issues set {column} = {value} where issue_id = '{id}'"
            );
            assert_eq!(db.forge(&[&change]).await, 1, "{change}");
            let named = found().await;
            assert!(
                named.iter().any(|m| m.table == "governance.system_issues"),
                "{column}: {named:?}"
            );
            db.forge(&[
                "delete from governance.system_issues",
                "insert into governance.system_issues table public.kept",
            ])
            .await;
            tried += 1;
        }
    }
    assert_eq!(tried, 42);
    let vanish = format!("delete from governance.system_issues where issue_id = '{closed}'");
    assert_eq!(db.forge(&[&vanish]).await, 1);
    assert!(
        found().await.iter().any(|m| m.rule == "state_equals_log"),
        "a finding that is gone is missed"
    );
}
