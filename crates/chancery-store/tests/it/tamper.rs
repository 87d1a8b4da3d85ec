//! AUD-1: whoever gets past the triggers is found by the audit. As a superuser with every trigger off, each column of each
//! row is changed, rows are swapped, dropped and forged; the audit names the run, the row and the rule every time.

use chancery_engine::audit::{self, Mismatch};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::run::{self, Actor, Birth, Request};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::support::{letters, post};

mod bundle;
mod columns;
mod forged;
pub(crate) mod scene;

pub(crate) use bundle::{other, sealed};

/// A history with signatures, and a superuser who has switched every trigger off.
struct Scene {
    db: TestDb,
    admin: PgConnection,
    auditor: Store,
    /// begin (bob, signed) → checked (amy, signed) → held (amy, signed) → checked (bob, signed) → sent (a service).
    run: Uuid,
    other: Uuid,
}

const EVIDENCE: [&str; 3] = ["fsm.transition_log", "fsm.run", "identity.signing_key"];

impl Scene {
    async fn new() -> Self {
        let (db, store) = letters().await;
        let operator = db.store(Role::Migrator);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keystore = Keystore::below(folder.path());
        for (name, class) in [("amy", "reviewer"), ("bob", "executor_worker")] {
            operator
                .fn_principal_add(name, "human", &[class.to_owned()], None)
                .await
                .expect("a person");
            new_key(&operator, &keystore, name, None).await.expect("a key");
        }
        let amy = Actor::open(&store, &keystore, "amy").await.expect("amy");
        let bob = Actor::open(&store, &keystore, "bob").await.expect("bob");
        let mut runs = Vec::new();
        for _ in 0..2 {
            let birth = Birth { data: Some(json!({ "words": 3 })), ..Birth::default() };
            let id = run::start(&store, &bob, "letter", &birth).await.expect("begun").run_id;
            for (actor, to, facet) in [
                (&amy, "checked", None),
                (&amy, "held", Some("waiting_stamp")),
                (&bob, "checked", None),
            ] {
                let request = Request {
                    reason: Some("as agreed".to_owned()),
                    evidence: Some(json!({ "facet": facet, "page": 1 })),
                    ..Request::default()
                };
                run::make_move(&store, actor, id, to, &request).await.expect("moved");
            }
            store.fn_state_transition_apply(&post(id)).await.expect("sent");
            runs.push(id);
        }
        let mut admin = db.superuser().await;
        for table in EVIDENCE {
            let copy = table.replace('.', "_");
            for statement in [
                format!("create table public.{copy} as table {table}"),
                format!("alter table {table} disable trigger user"),
            ] {
                admin.execute(AssertSqlSafe(statement)).await.expect("the superuser may");
            }
        }
        // Foreign keys are triggers as well.
        admin.execute("set session_replication_role = replica").await.expect("the superuser may");
        let auditor = db.store(Role::Auditor);
        let mut scene = Self { db, admin, auditor, run: runs[0], other: runs[1] };
        assert_eq!(scene.mismatches().await, [], "an honest history has none");
        scene
    }

    async fn mismatches(&mut self) -> Vec<Mismatch> {
        audit::verify_log(&self.auditor, |_| ()).await.expect("an audit").mismatches
    }

    /// What the audit says after these statements; then everything is as it was.
    async fn after(&mut self, statements: &[String]) -> Vec<Mismatch> {
        for statement in statements {
            let done = self.admin.execute(AssertSqlSafe(statement.clone())).await;
            let done = done.unwrap_or_else(|error| panic!("{statement}: {error}"));
            assert!(done.rows_affected() > 0, "{statement} changes something");
        }
        let found = self.mismatches().await;
        for table in EVIDENCE {
            let copy = table.replace('.', "_");
            for statement in [
                format!("delete from {table}"),
                format!("insert into {table} select * from public.{copy}"),
            ] {
                self.admin.execute(AssertSqlSafe(statement)).await.expect("restored");
            }
        }
        found
    }

    /// Makes the chain of a run whole again after its rows were changed, as a forger with a copy of our code would.
    async fn rehash(&mut self, run: Uuid) {
        let mut previous: Option<Vec<u8>> = None;
        let rows = self.auditor.log_page(None, 1_000).await.expect("the log");
        for mut row in rows.into_iter().filter(|row| row.run_id == run) {
            row.prev_hash = previous;
            let hash = row.expected_hash().to_vec();
            sqlx::query("update fsm.transition_log set prev_hash = $3, hash = $4 where run_id = $1 and seq = $2")
                .bind(run)
                .bind(row.seq)
                .bind(&row.prev_hash)
                .bind(&hash)
                .execute(&mut self.admin)
                .await
                .expect("forged");
            previous = Some(hash);
        }
        sqlx::query("update fsm.run set head_hash = $2 where run_id = $1")
            .bind(run)
            .bind(previous)
            .execute(&mut self.admin)
            .await
            .expect("forged");
    }
}

fn names(found: &[Mismatch], run: Uuid, seq: Option<i64>) -> bool {
    found
        .iter()
        .any(|mismatch| mismatch.run_id == Some(run) && (seq.is_none() || mismatch.seq == seq))
}

/// Every column of a table with another value of its type.
async fn other_values(admin: &mut PgConnection, table: &str) -> Vec<(String, String)> {
    let columns: Vec<(String, String, bool)> = sqlx::query_as(
        "select attname::text, atttypid::regtype::text, attnotnull from pg_attribute
          where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum",
    )
    .bind(table)
    .fetch_all(admin)
    .await
    .expect("columns");
    let mut changes = Vec::new();
    for (name, kind, not_null) in columns {
        let value = match kind.as_str() {
            "text" if name == "trace_id" => format!("md5({name})"),
            "text" => format!("coalesce({name}, '') || 'x'"),
            "uuid" => "gen_random_uuid()".to_owned(),
            "smallint" | "bigint" => format!("{name} + 100"),
            "timestamp with time zone" => format!("{name} + interval '1 microsecond'"),
            "bytea" => {
                format!("coalesce(set_byte({name}, 0, get_byte({name}, 0) # 1), sha256('x'))")
            }
            "jsonb" => format!("{name} || '{{\"forged\": true}}'"),
            other => panic!("say how to change {name}, which is {other}"),
        };
        changes.push((name.clone(), value));
        // Key and signature are there together or not at all; no row but a birth is without the hash before it.
        if !not_null && !["key_id", "signature", "prev_hash", "head_hash"].contains(&name.as_str())
        {
            changes.push((name, "null".to_owned()));
        }
    }
    changes
}

/// AUD-1: no column of the log can be changed unnoticed, in no row.
#[tokio::test]
async fn every_changed_column_of_the_log_is_named() {
    let mut scene = Scene::new().await;
    let run = scene.run;
    let mut tried = 0;
    for seq in 1..=5_i64 {
        for (column, value) in other_values(&mut scene.admin, "fsm.transition_log").await {
            let differs: bool = sqlx::query_scalar(AssertSqlSafe(format!(
                "select {column} is distinct from {value} from fsm.transition_log where run_id = '{run}' and seq = {seq}"
            )))
            .fetch_one(&mut scene.admin)
            .await
            .expect("an answer");
            // A birth has no hash before it, a service's row no key: the table's own constraints hold these.
            let unfit = match seq {
                1 => ["prev_hash", "seq"].contains(&column.as_str()),
                5 => ["key_id", "signature"].contains(&column.as_str()),
                _ => false,
            };
            if !differs || unfit {
                continue;
            }
            let change = format!(
                "update fsm.transition_log set {column} = {value} where run_id = '{run}' and seq = {seq}"
            );
            let found = scene.after(std::slice::from_ref(&change)).await;
            let named = if ["run_id", "seq"].contains(&column.as_str()) { None } else { Some(seq) };
            assert!(names(&found, run, named), "{change}: {found:?}");
            tried += 1;
        }
    }
    assert!(tried >= 100, "{tried} changes were tried");
    assert_eq!(scene.mismatches().await, [], "everything was put back");
    drop(scene.db);
}

/// AUD-1: no column of a run can be changed unnoticed.
#[tokio::test]
async fn every_changed_column_of_a_run_is_named() {
    let mut scene = Scene::new().await;
    let run = scene.run;
    let mut unnoticed = Vec::new();
    for (column, value) in other_values(&mut scene.admin, "fsm.run").await {
        let change = format!(
            "update fsm.run set {column} = {value} where run_id = '{run}' and {column} is distinct from {value}"
        );
        if value == "null" && ["facet", "parent_run_id"].contains(&column.as_str()) {
            continue;
        }
        let found = scene.after(&[change]).await;
        if !names(&found, run, None) {
            unnoticed.push(format!("{column} = {value}"));
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
}

/// AUD-1: rows cannot be swapped, dropped or added unnoticed.
#[tokio::test]
async fn every_moved_row_is_named() {
    let mut scene = Scene::new().await;
    let (run, other) = (scene.run, scene.other);
    let log = |seq: i64| format!("run_id = '{run}' and seq = {seq}");
    let copy = |changes: &str, seq: i64| {
        format!(
            "insert into fsm.transition_log
             select (jsonb_populate_record(l, jsonb_build_object('log_id', gen_random_uuid(), {changes}))).*
               from fsm.transition_log l where {}",
            log(seq)
        )
    };
    let cases: Vec<(&str, Vec<String>, Option<i64>)> = vec![
        (
            "two rows swapped",
            vec![
                format!("update fsm.transition_log set seq = 900 where {}", log(2)),
                format!("update fsm.transition_log set seq = 2 where {}", log(4)),
                format!("update fsm.transition_log set seq = 4 where {}", log(900)),
            ],
            Some(2),
        ),
        (
            "a row in the middle dropped",
            vec![format!("delete from fsm.transition_log where {}", log(3))],
            Some(4),
        ),
        (
            "the first row dropped",
            vec![format!("delete from fsm.transition_log where {}", log(1))],
            Some(2),
        ),
        (
            "the last row dropped",
            vec![format!("delete from fsm.transition_log where {}", log(5))],
            None,
        ),
        (
            "the whole log dropped",
            vec![format!("delete from fsm.transition_log where run_id = '{run}'")],
            None,
        ),
        ("the run dropped", vec![format!("delete from fsm.run where run_id = '{run}'")], None),
        ("a row added behind", vec![copy("'seq', 6, 'idempotency_key', 'again'", 5)], Some(6)),
        (
            "a row added far behind",
            vec![copy("'seq', 600, 'idempotency_key', 'again'", 5)],
            Some(600),
        ),
        (
            "state moved without its log",
            vec![format!("update fsm.run set state_code = 'draft' where run_id = '{run}'")],
            None,
        ),
        (
            "rows of two runs exchanged",
            vec![
                format!("update fsm.transition_log set seq = 900 where {}", log(3)),
                format!(
                    "update fsm.transition_log set run_id = '{run}' where run_id = '{other}' and seq = 3"
                ),
                format!(
                    "update fsm.transition_log set run_id = '{other}', seq = 3 where {}",
                    log(900)
                ),
            ],
            Some(3),
        ),
    ];
    for (name, statements, seq) in cases {
        let found = scene.after(&statements).await;
        assert!(names(&found, run, seq), "{name}: {found:?}");
    }
    let stranger = Uuid::now_v7();
    let found = scene.after(&[copy(&format!("'run_id', '{stranger}'"), 1)]).await;
    assert!(names(&found, stranger, None), "the log of a run that is not there: {found:?}");
    let found = scene
        .after(&[format!(
            "insert into fsm.run select (jsonb_populate_record(r, jsonb_build_object('run_id', '{}'))).*
               from fsm.run r where run_id = '{run}'",
            Uuid::nil()
        )])
        .await;
    assert!(
        names(&found, Uuid::nil(), None),
        "a run without a log, with the smallest id there is: {found:?}"
    );
}

/// AUD-1, SEC-1: a forger who makes the chain whole again still has no signatures.
#[tokio::test]
async fn a_rewritten_chain_fails_on_its_signatures() {
    let mut scene = Scene::new().await;
    let run = scene.run;
    let set = |what: &str, seq: i64| {
        format!("update fsm.transition_log set {what} where run_id = '{run}' and seq = {seq}")
    };
    let moved = |from: i64, to: i64| {
        format!(
            "update fsm.transition_log l set key_id = s.key_id, signature = s.signature from fsm.transition_log s
              where l.run_id = '{run}' and l.seq = {to} and s.run_id = '{run}' and s.seq = {from}"
        )
    };
    let keys = |what: &str| {
        vec![format!("update identity.signing_key set {what} where principal = 'amy'")]
    };
    let cases: Vec<(&str, Vec<String>, i64)> = vec![
        ("other evidence", vec![set("evidence = '{\"page\":2}'", 2)], 2),
        ("another reason", vec![set("reason = 'not as agreed'", 3)], 3),
        ("no reason", vec![set("reason = null", 3)], 3),
        ("another state", vec![set("to_state = 'sent'", 4), set("from_state = 'sent'", 5)], 4),
        ("another principal", vec![set("principal = 'bob'", 2)], 2),
        ("another class", vec![set("actor_class = 'executor_worker'", 2)], 2),
        ("another trigger", vec![set("trigger_ref = 'other'", 2)], 2),
        ("another key of idempotency", vec![set("idempotency_key = 'other'", 2)], 2),
        ("a signature of another row", vec![moved(2, 3)], 3),
        ("a signature of somebody else's row", vec![moved(2, 4)], 4),
        ("a signature on a service's row", vec![moved(4, 5)], 5),
        (
            "a flipped bit",
            vec![set("signature = set_bit(signature, 7, 1 - get_bit(signature, 7))", 2)],
            2,
        ),
        ("half a signature", vec![set("signature = substring(signature from 1 for 32)", 2)], 2),
        ("an unknown key", vec![set("key_id = gen_random_uuid()", 2)], 2),
        ("no signature at all", vec![set("key_id = null, signature = null", 2)], 2),
        (
            "other data at birth",
            vec![format!("update fsm.run set data = '{{\"words\": 4}}' where run_id = '{run}'")],
            1,
        ),
        ("another public key", keys("public_key = sha256(public_key)"), 2),
        ("the key given to another", keys("principal = 'bob'"), 2),
        (
            "the key dropped",
            vec!["delete from identity.signing_key where principal = 'amy'".to_owned()],
            2,
        ),
    ];
    let mut unnoticed = Vec::new();
    for (name, statements, seq) in cases {
        for statement in &statements {
            let done = scene.admin.execute(AssertSqlSafe(statement.clone())).await.expect("forged");
            assert!(done.rows_affected() > 0, "{name}: {statement} changes something");
        }
        scene.rehash(run).await;
        let found = scene.after(&[]).await;
        if !names(&found, run, Some(seq)) {
            unnoticed.push(format!("{name}: {found:?}"));
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
}

/// E3: an owner who disables a trigger, tampers and enables it again is found by the audit; the open door is found by the
/// ground check while it is open, and also when it was closed only half.
#[tokio::test]
async fn a_trigger_that_was_off_is_noticed() {
    let (db, store) = letters().await;
    let run = crate::support::draft(&store).await;
    let mut owner = db.connect(Role::Migrator).await;
    let check = "every guard trigger is ENABLE ALWAYS";
    let holds = async || {
        let checks = store.ground().await.expect("an answer");
        checks.into_iter().find(|c| c.name == check).expect("the ground looks at triggers").ok
    };
    assert!(holds().await);
    for half_closed in ["enable", "enable replica"] {
        for statement in [
            "set role chancery_owner",
            "alter table fsm.transition_log disable trigger transition_log_is_append_only",
        ] {
            owner.execute(statement).await.expect("an owner may");
        }
        assert!(!holds().await, "the ground is not safe while a trigger is off");
        let tamper =
            format!("update fsm.transition_log set principal = 'poster' where run_id = '{run}'");
        owner.execute(AssertSqlSafe(tamper)).await.expect("the door is open");
        let close = format!(
            "alter table fsm.transition_log {half_closed} trigger transition_log_is_append_only"
        );
        owner.execute(AssertSqlSafe(close)).await.expect("an owner may");
        assert!(!holds().await, "a trigger that does not always fire is no guard");
        assert_eq!(db.target().rearm_triggers().await.expect("the migrator may"), 1);
        assert!(holds().await, "armed again");
        let found =
            audit::verify_log(&db.store(Role::Auditor), |_| ()).await.expect("an audit").mismatches;
        assert!(names(&found, run, Some(1)), "the tampering stays visible: {found:?}");
    }
    let error = owner
        .execute("update fsm.transition_log set principal = 'x'")
        .await
        .expect_err("it fires again");
    assert_eq!(crate::hardening::sqlstate(&error), "RS016");
}
