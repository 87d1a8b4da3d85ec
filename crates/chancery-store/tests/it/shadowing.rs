//! A caller who plants look-alikes in front of our names (experiment E5), or bends the settings of its session, gets the
//! same verdicts as everybody else, and what is stored is the same.

use chancery_engine::audit;
use chancery_model::canonical;
use chancery_model::refusal::Code;
use chancery_store::fsm::Move;
use chancery_store::{Error, Role};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::hardening::{is_refusal, sqlstate};
use crate::session::{Isolation, Session};
use crate::support::{a_move, birth, check, draft, letters, post};

/// Our tables' names, to stand in front of them.
const TABLES: [&str; 16] = [
    "run",
    "transition_def",
    "transition_log",
    "state_def",
    "state_facet_def",
    "state_machine_def",
    "guard_def",
    "run_row",
    "verdict",
    "principal",
    "signing_key",
    "login_actor_class",
    "refusal",
    "dot_config",
    "event_outbox",
    "event_type_registry",
];

/// Functions and operators that say yes to everything, under the names that the rules use.
const YES: &[&str] = &[
    "create function SCHEMA.jsonb_typeof(jsonb) returns text language sql as $$ select 'object'::text $$",
    "create function SCHEMA.jsonb_path_match(jsonb, jsonpath, jsonb, boolean) returns boolean language sql as $$ select true $$",
    "create function SCHEMA.sha256(bytea) returns bytea language sql as $$ select '\\x00'::bytea $$",
    "create function SCHEMA.btrim(text) returns text language sql as $$ select 'something'::text $$",
    "create function SCHEMA.clock_timestamp() returns timestamptz language sql as $$ select '2001-01-01'::timestamptz $$",
    "create function SCHEMA.gen_random_uuid() returns uuid language sql as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$",
    "create function SCHEMA.same(text, text) returns boolean language sql as $$ select true $$",
    "create function SCHEMA.different(text, text) returns boolean language sql as $$ select false $$",
    "create function SCHEMA.different(name, text) returns boolean language sql as $$ select false $$",
    "create function SCHEMA.different(name, name) returns boolean language sql as $$ select false $$",
    "create function SCHEMA.different(jsonb, jsonb) returns boolean language sql as $$ select false $$",
    "create operator SCHEMA.= (function = SCHEMA.same, leftarg = text, rightarg = text)",
    "create operator SCHEMA.<> (function = SCHEMA.different, leftarg = text, rightarg = text)",
    "create operator SCHEMA.<> (function = SCHEMA.different, leftarg = name, rightarg = text)",
    "create operator SCHEMA.<> (function = SCHEMA.different, leftarg = name, rightarg = name)",
    "create operator SCHEMA.<> (function = SCHEMA.different, leftarg = jsonb, rightarg = jsonb)",
];

const PATH: &str = "set search_path = pg_temp, planted, pg_catalog";

/// A session with look-alikes first on its path. The superuser has to help: by itself the login can make none of them.
async fn hostile(db: &TestDb) -> Session {
    let mut admin = db.superuser().await;
    let temp =
        format!("grant temporary on database \"{}\" to chancery_app", db.target().database());
    admin.execute(AssertSqlSafe(temp)).await.expect("the superuser may");
    admin
        .execute("create schema planted authorization chancery_app")
        .await
        .expect("the superuser may");
    let mut session = Session::open(db, Role::App).await;
    for schema in ["pg_temp", "planted"] {
        for table in TABLES {
            session.run(&format!("create table {schema}.{table} ()")).await.expect("a look-alike");
        }
        for statement in YES {
            session.run(&statement.replace("SCHEMA", schema)).await.expect("a look-alike");
        }
    }
    // So that whoever the doors act as finds them too.
    session.run("grant usage on schema planted to public").await.expect("the schema is its own");
    session.run(PATH).await.expect("a path of its own");
    session
}

/// Moves that must be refused, one for each kind of look-up that could be deceived.
fn refused_moves(run: Uuid, empty: Uuid) -> Vec<Move> {
    vec![
        check(empty),
        Move { principal: "nobody".to_owned(), ..check(run) },
        Move { principal: "bystander".to_owned(), ..check(run) },
        Move { principal: "writer".to_owned(), ..check(run) },
        Move { trigger_ref: "letter_post".to_owned(), ..check(run) },
        Move { to: "nowhere".to_owned(), ..check(run) },
        Move { evidence: json!([]), ..check(run) },
        Move { idempotency_key: " ".to_owned(), ..check(run) },
        Move { run_id: Uuid::now_v7(), ..check(run) },
        Move { from: Some("held".to_owned()), ..check(run) },
        Move { evidence: json!({ "event": { "password": 1 } }), ..check(run) },
        post(run),
        a_move(run, "sent", "poster", "executor_worker", "rpc:letter_post", json!({ "event": {} })),
    ]
}

async fn verdicts(session: &mut Session, moves: &[Move]) -> Vec<Vec<Code>> {
    let mut all = Vec::new();
    for m in moves {
        all.push(match session.apply(m).await {
            Ok(_) => Vec::new(),
            Err(Error::Refused(refusal)) => {
                refusal.problems.iter().map(|problem| problem.code).collect()
            }
            Err(error) => panic!("{m:?}: {error}"),
        });
    }
    all
}

/// SEC-3, E5: look-alikes change no verdict, no effect and no check at COMMIT.
#[tokio::test]
async fn look_alikes_change_no_verdict() {
    let (db, store) = letters().await;
    let run = draft(&store).await;
    let empty =
        crate::support::start(&store, "letter", json!({ "words": 0 })).await.expect("begun").run_id;
    let moves = refused_moves(run, empty);
    let mut plain = Session::open(&db, Role::App).await;
    let mut hostile = hostile(&db).await;
    let before = db.fingerprint().await;
    let expected = verdicts(&mut plain, &moves).await;
    assert!(
        expected.iter().all(|codes| !codes.is_empty()),
        "each of them is refused: {expected:?}"
    );
    assert_eq!(verdicts(&mut hostile, &moves).await, expected);
    assert_eq!(before, db.fingerprint().await, "nothing changed");

    for early in [false, true] {
        let run = draft(&store).await;
        hostile.begin(Isolation::ReadCommitted).await;
        hostile.apply(&check(run)).await.expect("a good move is a good move");
        hostile.apply(&post(run)).await.expect("a good move is a good move");
        if early {
            hostile.run("set constraints all immediate").await.expect("the check holds now");
        }
        hostile.commit().await.expect("the check holds at COMMIT");
        assert_eq!(store.run(run).await.expect("an answer").expect("the run").state, "sent");
    }
    let born = birth("letter", json!({ "words": 1 }));
    hostile.start(&born).await.expect("a birth is a birth");
    let report = audit::verify_log(&db.store(Role::Auditor), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, []);

    // The triggers' own conditions were bound when they were made.
    let mut admin = db.superuser().await;
    admin.execute("set search_path = planted, pg_catalog").await.expect("a path");
    for statement in ["update fsm.run set state_code = 'draft'", "delete from fsm.transition_log"] {
        let error = admin.execute(statement).await.expect_err(statement);
        assert!(is_refusal(&sqlstate(&error)), "{statement}: {error}");
    }
}

/// Settings that a session may change and that change how PostgreSQL reads, writes or plans.
const SETTINGS: [&str; 14] = [
    "set extra_float_digits = -15",
    "set timezone = 'Asia/Ho_Chi_Minh'",
    "set datestyle = 'SQL, DMY'",
    "set intervalstyle = 'sql_standard'",
    "set bytea_output = 'escape'",
    "set standard_conforming_strings = off",
    "set transform_null_equals = on",
    "set array_nulls = off",
    "set quote_all_identifiers = on",
    "set enable_indexscan = off",
    "set enable_bitmapscan = off",
    "set plan_cache_mode = force_generic_plan",
    "set client_encoding = 'UTF8'",
    "set default_transaction_deferrable = on",
];

/// SEC-3, AUD-1: what is stored does not follow the settings of the session that stored it.
#[tokio::test]
async fn settings_change_nothing_that_is_stored() {
    let (db, store) = letters().await;
    let evidence = json!({
        "third": 0.333_333_333_333_333_3, "sum": 0.1 + 0.2, "tiny": 1.25e-9, "huge": 1.234_567_890_123_456_7e25,
        "text": "đã gửi \u{1F600} \"\\\n", "nested": [{ "b": 1.5, "a": [null, true] }],
    });
    for setting in SETTINGS {
        // A session of its own: what was parsed before a setting changed would stay as it was.
        let mut session = Session::open(&db, Role::App).await;
        session.run(setting).await.expect("a setting of one's own");
        let mut born = birth("letter", json!({ "words": 2, "ratio": 2.0 / 3.0 }));
        born.evidence = evidence.clone();
        let run = session.start(&born).await.expect("born").run_id;
        session.apply(&Move { evidence: evidence.clone(), ..check(run) }).await.expect("checked");
        session.apply(&post(run)).await.expect("sent");
        for row in store
            .log_page(None, 1_000)
            .await
            .expect("the log")
            .into_iter()
            .filter(|row| row.run_id == run)
        {
            let stored: Value = serde_json::from_str(&row.evidence).expect("JSON");
            if row.seq < 3 {
                assert_eq!(row.evidence, canonical::to_string(&evidence), "{setting}");
                assert_eq!(stored, evidence, "{setting}");
            }
        }
    }
    let report = audit::verify_log(&db.store(Role::Auditor), |_| ()).await.expect("an audit");
    assert_eq!(report.mismatches, []);
    let pass = store.fn_sequence_events(1_000).await.expect("positions");
    assert_eq!(pass.stamped, 3 * i64::try_from(SETTINGS.len()).expect("a few"));
}
