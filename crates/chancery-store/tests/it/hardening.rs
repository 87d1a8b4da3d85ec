//! What nobody may do, tried for real: by every login, by the owners the migrator can become, and by a superuser with the
//! triggers in place. Each attempt is refused, and afterwards every row of every table is what it was.

use chancery_model::machine::{Definition, File};
use chancery_model::refusal::Code::{RI004, RI025, RS015, RS016, RS017};
use chancery_store::governance::{Issue, Tick};
use chancery_store::{Error, LOGINS, Role, Store};
use chancery_testkit::{TestDb, births, flows, keys, shipped};
use serde_json::json;
use sqlx::postgres::{PgConnection, PgDatabaseError};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::approval_world::Panel;
use crate::cutter_world::World;
use crate::governance_world::problem;
use crate::orchestrator_world::{FINGERPRINT, KEY};
use crate::queue_world::Yard;
use crate::session::{Isolation, Session};
use crate::support::{a_move, check, codes, draft, letters, post, start};
use crate::tables::{APPENDED_BY_RIGHT_ALONE, FACTS, HISTORY, RULES, all_tables, with_partitions};

/// A database with a row in every guarded table.
pub(crate) async fn lived_in() -> (TestDb, Store, Uuid) {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    store.fn_state_transition_apply(&check(run)).await.expect("checked");
    store.fn_state_transition_apply(&post(run)).await.expect("sent");
    draft(&store).await;
    let operator = db.store(Role::Migrator);
    keys::register(&operator, "writer").await;
    let known = operator.fn_drift_acknowledge("table fsm.run", "0", 1, "known", "writer").await;
    known.expect("a difference that somebody answers for");
    let duties = Definition::from(&File::parse(DUTIES).expect("a machine file"));
    db.definition_in_any_class(&duties).await;
    begun_long_ago(&db, &store).await;
    store.fn_sequence_events(100).await.expect("positions");
    store.fn_event_validation_record("letter.posted", "RE002", &json!({})).await.expect("a record");
    let world = World::on(db).await;
    world.live().await;
    let panel = Panel::on(world.db).await;
    panel.live().await;
    orchestrated(&panel.db).await;
    watched(&panel.db, &store).await;
    births::live(&panel.db).await;
    flows::live(&panel.db).await;
    let yard = Yard::beside(panel).await;
    yard.live().await;
    (yard.into_db(), store, run)
}

/// Findings, heartbeats, lag and an event that waits.
async fn watched(db: &TestDb, store: &Store) {
    let machine = shipped().into_iter().find(|machine| machine.machine == "finding");
    db.definition(&machine.expect("the machine of findings")).await;
    let issue = Issue { idempotency_key: Some("k"), ..problem("a") };
    store.fn_log_issue(&issue).await.expect("a finding");
    let nothing = json!({});
    for worker in ["a", "b"] {
        let tick = Tick {
            worker_class: "loop",
            worker,
            ok: true,
            metadata: &nothing,
            principal: "chancery",
        };
        store.fn_heartbeat_tick(&tick).await.expect("a tick");
    }
    db.service("keeper", &["pic_human"]).await;
    store.fn_heartbeat_freeze("loop", true, "a look", "keeper", "pic_human").await.expect("frozen");
    let mut admin = db.superuser().await;
    for statement in [
        "set role chancery_definer",
        "insert into event.consumer_delivery (consumer, position, event_id, producer, event_at, delivered_at)
         select 'relay', 1, internal.uuid_v7(), 'custom', t, t from unnest(array[timestamptz '2001-01-01 00:00Z', now()]) t",
        "insert into queue.heartbeat_series (at, worker_class, worker, principal) values ('2001-01-01 00:00Z', 'loop', 'a', 'chancery')",
        "select event.capture_pending('letter.posted', 'custom', internal.uuid_v7(), 'sent', 'executor_worker', 'rpc', 'letter_post',
                                      '{\"event\": {\"carrier\": \"post\"}}', 'k', 'a test', 'poster')",
    ] {
        admin.execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    store.fn_event_lag_record("chancery").await.expect("recorded");
    // The event that was refused above is a problem, and a summary says so.
    store.fn_summaries_run("chancery").await.expect("summaries");
}

/// A row in each table of the orchestrator. The database has a document and an executor.
async fn orchestrated(db: &TestDb) {
    let machine = shipped().into_iter().find(|machine| machine.machine == "orchestrator_run");
    db.definition(&machine.expect("the orchestrator's machine")).await;
    let id = Uuid::now_v7();
    let start = format!(
        "select orchestrator.fn_orchestrate_start('{id}', 'ictr-20260914T080000Z-{id}', 'waiting', '{}', 'executor') ->> 'state'",
        Uuid::now_v7()
    );
    assert_eq!(db.text_as(Role::CutterExec, &start).await, "pending");
    let pin = format!(
        "select orchestrator.fn_backup_key_pin('{FINGERPRINT}', '{KEY}', 'test') ->> 'replayed'"
    );
    assert_eq!(db.text_as(Role::Migrator, &pin).await, "false");
}

/// Puts a row into the outbox's default partition: an event of a day that has none of its own.
async fn begun_long_ago(db: &TestDb, store: &Store) {
    let mut admin = db.superuser().await;
    for time in ["timestamptz '2001-01-01 00:00:00Z'", "clock_timestamp()"] {
        let now = format!(
            "create or replace function internal.now() returns timestamptz language sql as 'select {}'",
            time.replace('\'', "''")
        );
        admin.execute(AssertSqlSafe(now)).await.expect("the clock is one function");
        draft(store).await;
    }
}

/// A machine for the logins that act for one class only, with a row in each of the registry's tables.
const DUTIES: &str = r#"
machine: duty
scope: custom
version: 1.0.0
description: One move for each duty that has a login of its own.
data: { type: object, properties: { n: {} } }
events: []
guards:
  - { name: is_one, kind: config, rule: '$.run.data.n == 1', reads: [], description: A guard to look at. }
states:
  - { code: begun, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Begun, vi: Mới }, message: { en: begun, vi: mới } }
  - { code: cut, class: active, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Cut, vi: Cắt }, message: { en: cut, vi: cắt } }
  - { code: verified, class: active, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Verified, vi: Kiểm }, message: { en: verified, vi: kiểm } }
  - { code: reviewed, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Reviewed, vi: Duyệt }, message: { en: reviewed, vi: duyệt } }
transitions:
  - { id: begin, from: "∅", to: begun, actors: [executor_worker], trigger: { kind: rpc, ref: letter_begin } }
  - { id: cut, from: begun, to: cut, actors: [executor_dot991], trigger: { kind: rpc, ref: cut }, guards: [is_one] }
  - { id: verify, from: cut, to: verified, actors: [verifier_dot992], trigger: { kind: rpc, ref: verify } }
  - { id: review, from: verified, to: reviewed, actors: [review_authority], trigger: { kind: rpc, ref: review } }
invariants:
  - { id: D-1, why: nothing is reviewed that was not verified, always_via: { to: reviewed, visits: verified } }
"#;

/// Tries a statement up to its deferred checks. `None` means that it went through; it is undone so that the next attempt
/// meets the same rows.
pub(crate) async fn attempt(connection: &mut PgConnection, statement: &str) -> Option<String> {
    let mut answer = Ok(());
    for part in ["begin", statement, "set constraints all immediate"] {
        answer = connection.execute(AssertSqlSafe(part.to_owned())).await.map(drop);
        if answer.is_err() {
            break;
        }
    }
    connection.execute("rollback").await.expect("a transaction can always be rolled back");
    answer.err().map(|error| sqlstate(&error))
}

pub(crate) fn sqlstate(error: &sqlx::Error) -> String {
    let database = error
        .as_database_error()
        .unwrap_or_else(|| panic!("an answer of the database, not {error}"));
    database.try_downcast_ref::<PgDatabaseError>().expect("PostgreSQL's").code().to_owned()
}

const DENIED: &str = "42501";

pub(crate) fn is_refusal(sqlstate: &str) -> bool {
    [DENIED, RI025.as_str(), RS015.as_str(), RS016.as_str(), RS017.as_str()].contains(&sqlstate)
}

/// Every way to write a table without its door. Row triggers say nothing about a table without rows: there, what the
/// catalogue says must do.
pub(crate) async fn hand_writes(admin: &mut PgConnection, tables: &[String]) -> Vec<String> {
    let mut statements = Vec::new();
    for table in tables {
        let columns: Vec<String> = sqlx::query_scalar(
            "select quote_ident(attname) from pg_attribute
              where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attidentity, attnum",
        )
        .bind(table)
        .fetch_all(admin.as_mut())
        .await
        .expect("columns");
        let (first, all) = (&columns[0], columns.join(", "));
        let has_rows: bool =
            sqlx::query_scalar(AssertSqlSafe(format!("select exists (select from {table})")))
                .fetch_one(admin.as_mut())
                .await
                .expect("an answer");
        if has_rows {
            statements.push(format!("insert into {table} ({all}) overriding system value select {all} from {table} limit 1"));
            statements.push(format!("update {table} set {first} = {first}"));
            statements.push(format!("delete from {table}"));
        } else {
            statements.push(format!("insert into {table} default values"));
        }
        let state = match table.as_str() {
            "fsm.run" => Some("state_code = 'draft'"),
            "cutter_governance.decision_backlog_entry" => Some("status = 'verified_complete'"),
            _ => None,
        };
        if let Some(state) = state {
            // What the engine itself moves, by hand.
            for change in [
                state,
                "facet = 'forged'",
                "seq = seq + 1",
                "head_hash = sha256(head_hash)",
                "last_transition_at = last_transition_at + interval '1 second'",
            ] {
                statements.push(format!("update {table} set {change}"));
            }
        }
        statements.push(format!("truncate {table}"));
        statements.push(format!("truncate {table} cascade"));
    }
    statements
}

/// Tries everything and answers with what went through, or failed for another reason than a refusal.
pub(crate) async fn not_refused(
    connection: &mut PgConnection,
    statements: &[String],
) -> Vec<String> {
    let mut found = Vec::new();
    for statement in statements {
        match attempt(connection, statement).await {
            None => found.push(format!("{statement}: went through")),
            Some(state) if is_refusal(&state) => {}
            Some(state) => found.push(format!("{statement}: {state}")),
        }
    }
    found
}

/// A table that others refer to cannot be emptied alone, whoever asks; only with CASCADE does the attempt get to the triggers.
pub(crate) fn without_key_violations(found: Vec<String>) -> Vec<String> {
    found
        .into_iter()
        .filter(|line| !(line.starts_with("truncate") && line.ends_with(": 0A000")))
        .collect()
}

/// SEC-3: no login writes any table by hand. The migrator has the owners' rights and meets the triggers of the guarded ones.
#[tokio::test]
async fn no_login_writes_a_table_by_hand() {
    let (db, _store, _run) = lived_in().await;
    let mut admin = db.superuser().await;
    let all = all_tables(&mut admin).await;
    let guarded = with_partitions(&mut admin, &[HISTORY, FACTS, RULES]).await;
    let before = db.fingerprint().await;
    let mut found = Vec::new();
    for &role in LOGINS {
        let tables = if role == Role::Migrator { &guarded } else { &all };
        let statements = hand_writes(&mut admin, tables).await;
        let mut connection = db.connect(role).await;
        let gone_through = without_key_violations(not_refused(&mut connection, &statements).await);
        found.extend(gone_through.into_iter().map(|line| format!("{}: {line}", role.name())));
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// SEC-3, E1, E2: a superuser is refused too while the triggers are in place, also in the replica role.
#[tokio::test]
async fn a_superuser_meets_the_triggers() {
    let (db, _store, _run) = lived_in().await;
    let mut admin = db.superuser().await;
    let guarded = with_partitions(&mut admin, &[HISTORY, FACTS, RULES]).await;
    let mut statements = hand_writes(&mut admin, &guarded).await;
    statements.retain(|statement| {
        !statement.starts_with(&format!("insert into {APPENDED_BY_RIGHT_ALONE}"))
    });
    for table in [HISTORY, FACTS].concat() {
        let attempts = statements
            .iter()
            .filter(|statement| statement.starts_with(&format!("delete from {table}")))
            .count();
        assert!(attempts > 0, "{table} has rows to try it on");
    }
    let before = db.fingerprint().await;
    let mut found = Vec::new();
    for replication_role in ["origin", "replica", "local"] {
        let setting = format!("set session_replication_role = {replication_role}");
        admin.execute(AssertSqlSafe(setting)).await.expect("a superuser may");
        let gone_through = without_key_violations(not_refused(&mut admin, &statements).await);
        found.extend(gone_through.into_iter().map(|line| format!("{replication_role}: {line}")));
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// SEC-3, E2: whoever the migrator becomes, history is not rewritten and no table is emptied.
#[tokio::test]
async fn no_owner_rewrites_history() {
    let (db, _store, _run) = lived_in().await;
    let mut admin = db.superuser().await;
    let history = with_partitions(&mut admin, &[HISTORY]).await;
    let evidence = with_partitions(&mut admin, &[HISTORY, FACTS]).await;
    let rules = with_partitions(&mut admin, &[RULES]).await;
    let before = db.fingerprint().await;
    let mut found = Vec::new();
    for owner in ["chancery_owner", "chancery_definer", "chancery_guard"] {
        let mut statements =
            hand_writes(&mut admin, if owner == "chancery_definer" { &history } else { &evidence })
                .await;
        if owner == "chancery_definer" {
            // The doors act as this role, so it can append; what a lone append comes to is the next test's.
            statements.retain(|statement| !statement.starts_with("insert"));
        }
        statements.extend(
            hand_writes(&mut admin, &rules).await.into_iter().filter(|s| s.starts_with("truncate")),
        );
        let mut connection = db.connect(Role::Migrator).await;
        connection
            .execute(AssertSqlSafe(format!("set role {owner}")))
            .await
            .expect("the migrator may");
        let gone_through = without_key_violations(not_refused(&mut connection, &statements).await);
        found.extend(gone_through.into_iter().map(|line| format!("{owner}: {line}")));
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// Tries statements as the role of the doors, each with a COMMIT of its own, and answers with what was not refused there.
async fn committed_as_definer(db: &TestDb, cases: &[(&str, String)]) -> Vec<String> {
    let mut connection = db.connect(Role::Migrator).await;
    connection.execute("set role chancery_definer").await.expect("the migrator may");
    let mut found = Vec::new();
    for (name, statement) in cases {
        connection.execute("begin").await.expect("a transaction");
        let written = connection.execute(AssertSqlSafe(statement.clone())).await;
        let ended = connection.execute("commit").await;
        match written.and(ended) {
            Ok(_) => found.push(format!("{name}: committed")),
            Err(error)
                if [RS015, RS016, RS017].iter().any(|code| sqlstate(&error) == code.as_str()) => {}
            Err(error) => found.push(format!("{name}: {}", sqlstate(&error))),
        }
    }
    found
}

/// FSM-6, SEC-3: even as the role of the doors, no state moves without its log.
#[tokio::test]
async fn no_state_without_its_log() {
    let (db, _store, run) = lived_in().await;
    let before = db.fingerprint().await;
    let cases = [
        ("state alone", format!("update fsm.run set state_code = 'draft' where run_id = '{run}'")),
        ("seq alone", format!("update fsm.run set seq = seq + 1 where run_id = '{run}'")),
        ("hash alone", format!("update fsm.run set head_hash = sha256(head_hash) where run_id = '{run}'")),
        (
            "a run without a log",
            format!(
                "insert into fsm.run
                 select (jsonb_populate_record(r, jsonb_build_object('run_id', gen_random_uuid()))).*
                   from fsm.run r where run_id = '{run}'"
            ),
        ),
    ];
    assert_eq!(committed_as_definer(&db, &cases).await, Vec::<String>::new());
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// FSM-6, SEC-3: nor does a log row stand without the state it tells of.
#[tokio::test]
async fn no_log_without_its_state() {
    let (db, _store, run) = lived_in().await;
    let before = db.fingerprint().await;
    let cases = [
        (
            "log alone",
            format!(
                "insert into fsm.transition_log
                 select (jsonb_populate_record(l, jsonb_build_object('seq', l.seq + 1, 'log_id', gen_random_uuid(),
                          'from_state', l.to_state, 'to_state', 'draft', 'idempotency_key', 'forged', 'prev_hash', l.hash))).*
                   from fsm.transition_log l where run_id = '{run}' order by seq desc limit 1"
            ),
        ),
        (
            "the log of a run that is not there",
            "insert into fsm.transition_log
             select (jsonb_populate_record(l, jsonb_build_object('run_id', gen_random_uuid(), 'log_id', gen_random_uuid()))).*
               from fsm.transition_log l where seq = 1 limit 1"
                .to_owned(),
        ),
    ];
    assert_eq!(committed_as_definer(&db, &cases).await, Vec::<String>::new());
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// E6: the deferred check reads what the low-privilege session may not, at COMMIT and when it is asked for earlier.
#[tokio::test]
async fn a_login_without_rights_on_tables_passes_the_deferred_check() {
    let (db, store, _run) = lived_in().await;
    for (name, class) in [
        ("cutter", "executor_dot991"),
        ("verifier", "verifier_dot992"),
        ("authority", "review_authority"),
    ] {
        db.service(name, &[class]).await;
    }
    let duties = [
        (Role::CutterExec, "cut", "cutter", "executor_dot991", "rpc:cut"),
        (Role::CutterVerify, "verified", "verifier", "verifier_dot992", "rpc:verify"),
        (Role::CutterReview, "reviewed", "authority", "review_authority", "rpc:review"),
    ];
    for early in [false, true] {
        let run = start(&store, "duty", json!({ "n": 1 })).await.expect("begun").run_id;
        for (role, to, principal, class, trigger) in duties {
            let m = a_move(run, to, principal, class, trigger, json!({}));
            assert_eq!(
                codes(store.fn_state_transition_apply(&m).await),
                [RI004],
                "the application cannot do what has a login of its own"
            );
            let mut session = Session::open(&db, role).await;
            session.begin(Isolation::ReadCommitted).await;
            session.apply(&m).await.expect("the duty's own login");
            if early {
                session.run("set constraints all immediate").await.expect("the check holds now");
            }
            session.commit().await.expect("the check holds at COMMIT");
        }
        assert_eq!(store.run(run).await.expect("an answer").expect("the run").state, "reviewed");
    }
}

/// E6: a session that defers nothing is refused in the middle of a move, between state and log. That is strict, never lax:
/// nothing changes, and the session can move as soon as it lets the check wait for COMMIT again.
#[tokio::test]
async fn a_session_that_defers_nothing_changes_nothing() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let before = db.fingerprint().await;
    let mut session = Session::open(&db, Role::App).await;
    session.begin(Isolation::ReadCommitted).await;
    session.run("set constraints all immediate").await.expect("nothing to check yet");
    assert_eq!(codes(session.apply(&check(run)).await), [RS017]);
    session.rollback().await;
    assert_eq!(before, db.fingerprint().await, "nothing changed");
    session.apply(&check(run)).await.expect("checked");
}

/// ADM-3: a server without room for more locks says what to do, in whatever language it speaks; other lack of memory is not told so.
#[tokio::test]
async fn no_room_for_locks_is_explained() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let mut raised = async |message: &str, hint: &str| {
        let raise = format!(
            "do $$ begin raise exception using errcode = '53200', message = '{message}', hint = '{hint}'; end $$"
        );
        let error = admin.execute(AssertSqlSafe(raise)).await.expect_err("raised");
        Error::from(error)
    };
    let locks =
        raised("hết bộ nhớ dùng chung", "You might need to increase max_locks_per_transaction.")
            .await;
    assert!(matches!(locks, Error::Locks(_)), "{locks:?}");
    let said = locks.to_string();
    for words in [
        "hết bộ nhớ dùng chung",
        "nothing was done",
        "Raise max_locks_per_transaction",
        "fewer things at once",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let other = raised("out of memory", "Failed on request of size 8192.").await;
    assert!(matches!(other, Error::Bug { .. }), "{other:?}");
}
