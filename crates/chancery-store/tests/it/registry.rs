//! Machines as data: what the registry keeps, how versions follow each other, and what never becomes active.

mod unsound;

use std::collections::{BTreeMap, BTreeSet};

use chancery_engine::registry;
use chancery_model::canonical;
use chancery_model::machine::{Definition, File, GuardKind};
use chancery_model::refusal::Code::{self, *};
use chancery_store::fsm::{Activate, MachineApplied, Move};
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, repo_path, shipped};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::support::{LETTER, a_move, check, codes, draft, letters, post, start};

fn document(yaml: &str) -> Value {
    serde_json::to_value(Definition::from(&File::parse(yaml).expect("a machine file")))
        .expect("plain data")
}

fn shipped_document(name: &str) -> Value {
    let machine = shipped()
        .into_iter()
        .find(|definition| definition.machine == name)
        .expect("a shipped machine");
    serde_json::to_value(machine).expect("plain data")
}

/// The door itself, without the checker in front of it.
async fn apply(store: &Store, document: &Value, activate: bool) -> Result<MachineApplied, Error> {
    store
        .fn_machine_apply(document, &hex::encode(canonical::sha256(document)), "operator", activate)
        .await
}

/// Applied and activated, also where a newer version is the active one.
async fn apply_older(store: &Store, document: &Value) -> Result<MachineApplied, Error> {
    let digest = hex::encode(canonical::sha256(document));
    store.fn_machine_apply(document, &digest, "operator", Activate::AlsoOlder).await
}

/// The facts of the only problem of a refusal.
fn refused(answer: Result<MachineApplied, Error>, code: Code) -> Value {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    assert_eq!((refusal.code, refusal.problems.len()), (code, 1));
    Value::Object(refusal.problems[0].facts.clone())
}

/// The letter machine in another version.
fn letter(version: &str) -> String {
    assert_eq!(LETTER.matches("version: 1.0.0").count(), 1);
    LETTER.replace("version: 1.0.0", &format!("version: {version}"))
}

/// FSM-1: the five tables of the specification with their columns, and what derived states need besides.
#[tokio::test]
async fn the_registry_has_the_tables_of_the_specification() {
    type Columns = &'static [(&'static str, &'static str)];
    let expected: [(&str, &str, Columns); 5] = [
        (
            "state_machine_def",
            "PRIMARY KEY (state_machine_id)",
            &[
                ("state_machine_id", "text"),
                ("scope", "text"),
                ("version", "text"),
                ("active", "boolean"),
                ("description", "text"),
                ("created_at", "timestamp with time zone"),
            ],
        ),
        (
            "state_def",
            "PRIMARY KEY (state_machine_id, state_code)",
            &[
                ("state_machine_id", "text"),
                ("state_code", "text"),
                ("semantic_class", "text"),
                ("is_terminal", "boolean"),
                ("ordinal", "integer"),
                ("ui_color_token", "text"),
                ("ui_icon_token", "text"),
                ("ui_label_i18n_key", "text"),
                ("ui_short_message_key", "text"),
                ("is_derived", "boolean"),
                ("floor_equivalent", "text"),
                ("derived_justification", "text"),
            ],
        ),
        (
            // The key of the specification with births in it: those come from no state, and a primary key has no nulls.
            "transition_def",
            "UNIQUE NULLS NOT DISTINCT (state_machine_id, from_state, to_state, actor_class)",
            &[
                ("state_machine_id", "text"),
                ("from_state", "text"),
                ("to_state", "text"),
                ("actor_class", "text"),
                ("trigger_kind", "text"),
                ("trigger_ref", "text"),
                ("guard_kind", "text"),
                ("guard_ref", "text"),
                ("emitted_event_type", "text"),
                ("audit_required", "boolean"),
                ("rollback_to", "text"),
                ("proposed", "boolean"),
            ],
        ),
        (
            "state_facet_def",
            "PRIMARY KEY (state_machine_id, state_code, facet_code)",
            &[
                ("state_machine_id", "text"),
                ("state_code", "text"),
                ("facet_code", "text"),
                ("ui_icon_token", "text"),
                ("ui_label_i18n_key", "text"),
                ("primary_ordinal", "integer"),
            ],
        ),
        (
            "rollup_policy_def",
            "PRIMARY KEY (state_machine_id, policy_code)",
            &[
                ("state_machine_id", "text"),
                ("policy_code", "text"),
                ("policy_config_jsonb", "jsonb"),
                ("active", "boolean"),
            ],
        ),
    ];
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    for (table, key, columns) in expected {
        let found: Vec<(String, String)> = sqlx::query_as(
            "select column_name::text, data_type::text from information_schema.columns where table_schema = 'fsm' and table_name = $1",
        )
        .bind(table)
        .fetch_all(&mut admin)
        .await
        .expect("columns");
        let found: BTreeMap<&str, &str> =
            found.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).collect();
        for (column, kind) in columns {
            assert_eq!(found.get(column), Some(kind), "{table}.{column}");
        }
        let keys: Vec<String> = sqlx::query_scalar(
            "select pg_get_constraintdef(oid) from pg_constraint where conrelid = ('fsm.' || $1)::regclass and contype in ('p', 'u')",
        )
        .bind(table)
        .fetch_all(&mut admin)
        .await
        .expect("keys");
        assert!(keys.iter().any(|found| found == key), "{table}: {keys:?}");
    }
    let proposed: Option<String> = sqlx::query_scalar(
        "select column_default::text from information_schema.columns
          where table_schema = 'fsm' and table_name = 'transition_def' and column_name = 'proposed'",
    )
    .fetch_one(&mut admin)
    .await
    .expect("a default");
    assert_eq!(proposed.as_deref(), Some("false"));
}

/// Machines whose room is installed, with its guards.
const ROOMS_THAT_STAND: [&str; 7] =
    ["cut_request", "orchestrator_run", "birth_permit", "step", "task", "workflow_run", "proposal"];

/// Machines whose guards are all rules in the file.
const WITHOUT_PREDICATES: [&str; 4] = ["job", "dlq_replay", "finding", "governance_candidate"];

/// FSM-2, FSM-8: one registry holds every shipped machine and a user's own. What waits for guards of a room stays inactive
/// and says for which.
#[tokio::test]
async fn one_registry_serves_every_machine() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    for definition in shipped() {
        let stored = registry::apply_definition(&operator, &definition, "operator", false)
            .await
            .expect("stored");
        assert_eq!(
            (stored.outcome.as_str(), stored.active),
            ("created", false),
            "{}",
            stored.machine
        );
    }
    let example = repo_path("machines/examples/purchase_approval.yaml");
    let applied =
        registry::apply(&operator, &example, "operator", true).await.expect("the example is sound");
    assert!(applied.active && applied.guards_not_registered.is_empty());

    let rows = operator.machines().await.expect("the registry");
    let scopes: BTreeSet<(&str, &str)> =
        rows.iter().map(|row| (row.scope.as_str(), row.name.as_str())).collect();
    let expected = crate::shipped::NAMES.map(|name| (name, name));
    assert_eq!(scopes, expected.into_iter().chain([("custom", "purchase_approval")]).collect());
    for definition in shipped() {
        let row = rows.iter().find(|row| row.state_machine_id == definition.id()).expect("a row");
        assert!(!row.active, "{}", row.name);
        assert_eq!(usize::try_from(row.states).expect("few"), definition.states.len());
        assert_eq!(usize::try_from(row.transitions).expect("few"), definition.transitions.len());
        let predicates =
            definition.guards.iter().filter(|guard| guard.kind == GuardKind::PredicateFn);
        let named_in_file: BTreeSet<&str> = predicates.map(|guard| guard.name.as_str()).collect();
        let has_none = WITHOUT_PREDICATES.contains(&row.name.as_str());
        assert_eq!(named_in_file.is_empty(), has_none, "{} has guards of a room", row.name);
        let missing = if ROOMS_THAT_STAND.contains(&row.name.as_str()) {
            BTreeSet::new()
        } else {
            named_in_file
        };
        let named = row.guards_not_registered.as_array().expect("names");
        assert_eq!(
            named.iter().filter_map(Value::as_str).collect::<BTreeSet<_>>(),
            missing,
            "{}",
            row.name
        );
    }
}

/// FSM-2: a scope that nobody knows is not stored.
#[tokio::test]
async fn other_scopes_are_not_stored() {
    let db = TestDb::new().await;
    let before = db.fingerprint().await;
    let mut document = document(LETTER);
    document["scope"] = json!("universe");
    apply(&db.store(Role::Migrator), &document, false).await.expect_err("no such scope");
    assert_eq!(before, db.fingerprint().await);
}

/// FSM-3: the same file again changes nothing; another text of a version without runs takes its place; with runs it does not.
#[tokio::test]
async fn a_version_is_edited_only_while_it_has_no_runs() {
    let (db, store) = letters().await;
    let operator = db.store(Role::Migrator);
    let before = db.fingerprint().await;
    let again = apply(&operator, &document(LETTER), true).await.expect("the same again");
    assert_eq!((again.outcome.as_str(), again.active), ("unchanged", true));
    assert_eq!(before, db.fingerprint().await);

    let edited = LETTER.replace(
        "from: checked, to: held, actors: [reviewer, executor_worker]",
        "from: checked, to: held, actors: [reviewer]",
    );
    let replaced = apply(&operator, &document(&edited), true).await.expect("no runs yet");
    assert_eq!((replaced.outcome.as_str(), replaced.active), ("replaced", true));
    let rows = operator.machines().await.expect("the registry");
    assert_eq!(
        rows.iter().map(|row| row.transitions).collect::<Vec<_>>(),
        [7],
        "one row less, and no second version"
    );

    draft(&store).await;
    let before = db.fingerprint().await;
    assert_eq!(
        refused(apply(&operator, &document(LETTER), true).await, RS019),
        json!({ "machine": "letter@1.0.0" })
    );
    assert_eq!(before, db.fingerprint().await);
    let again = apply(&operator, &document(&edited), true).await.expect("the same again");
    assert_eq!(again.outcome, "unchanged");
    assert_eq!(before, db.fingerprint().await);
}

/// FSM-3: a new version is the only active one; runs stay on theirs and go on by its rows.
#[tokio::test]
async fn a_new_version_leaves_running_instances_alone() {
    let (db, store) = letters().await;
    let operator = db.store(Role::Migrator);
    let old = draft(&store).await;
    // In the next version letters are checked by another call.
    let next = letter("1.1.0").replace(
        "to: checked, actors: [reviewer], trigger: { kind: rpc, ref: letter_check }",
        "to: checked, actors: [reviewer], trigger: { kind: rpc, ref: letter_read }",
    );
    let applied = apply(&operator, &document(&next), true).await.expect("a new version");
    assert_eq!((applied.outcome.as_str(), applied.active), ("created", true));
    assert_eq!(active(&operator).await, ["letter@1.1.0"]);

    let new = draft(&store).await;
    let machine_of =
        async |run| store.run(run).await.expect("an answer").expect("a run").state_machine_id;
    assert_eq!(machine_of(old).await, "letter@1.0.0");
    assert_eq!(machine_of(new).await, "letter@1.1.0");
    let read = |run| Move { trigger_ref: "letter_read".to_owned(), ..check(run) };
    assert_eq!(codes(store.fn_state_transition_apply(&read(old)).await), [RS005]);
    assert_eq!(codes(store.fn_state_transition_apply(&check(new)).await), [RS005]);
    store.fn_state_transition_apply(&check(old)).await.expect("by the old row");
    store.fn_state_transition_apply(&read(new)).await.expect("by the new row");
    let sent = store.fn_state_transition_apply(&post(old)).await.expect("to its end");
    assert!(sent.transition_id.is_some_and(|id| id.starts_with("letter@1.0.0#")));

    // An older version can be made the active one again; there is still only one.
    let back = apply_older(&operator, &document(LETTER)).await.expect("as it was");
    assert_eq!((back.outcome.as_str(), back.active), ("activated", true));
    assert_eq!(active(&operator).await, ["letter@1.0.0"]);
    let unasked = apply(&operator, &document(&next), false).await.expect("known");
    assert_eq!((unasked.outcome.as_str(), unasked.active), ("unchanged", false));
    assert_eq!(active(&operator).await, ["letter@1.0.0"]);
}

async fn active(store: &Store) -> Vec<String> {
    let rows = store.machines().await.expect("the registry");
    rows.into_iter().filter(|row| row.active).map(|row| row.state_machine_id).collect()
}

/// FSM-3: versions that are applied at once end with one active, and the database itself allows no second.
#[tokio::test]
async fn one_version_a_name_is_active() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let documents: Vec<Value> =
        (0..6).map(|minor| document(&letter(&format!("1.{minor}.0")))).collect();
    let tasks: Vec<_> = documents
        .into_iter()
        .map(|document| {
            let operator = operator.clone();
            tokio::spawn(async move { apply_older(&operator, &document).await })
        })
        .collect();
    for task in tasks {
        let applied = task.await.expect("no panic").expect("applied");
        assert_eq!((applied.outcome.as_str(), applied.active), ("created", true));
    }
    assert_eq!(operator.machines().await.expect("the registry").len(), 6);
    assert_eq!(active(&operator).await.len(), 1);
    let mut admin = db.superuser().await;
    admin.execute("set role chancery_owner").await.expect("the superuser may");
    let second = admin
        .execute("update fsm.state_machine_def set active = true")
        .await
        .expect_err("two active versions");
    assert!(second.to_string().contains("machine_one_active_version_idx"), "{second}");
}

/// FSM-8: a machine that names unregistered predicates is refused when it should become active, with their names; nothing of
/// it is stored then. Guards that are registered later open the way.
#[tokio::test]
async fn a_machine_becomes_active_when_its_guards_are_registered() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    // As the permit's machine, with guards that no room has.
    let text = shipped_document("birth_permit").to_string();
    let mut permit: Value =
        serde_json::from_str(&text.replace("G-", "NEW-")).expect("the same document");
    permit["version"] = json!("9.0.0");
    let before = db.fingerprint().await;
    let facts = refused(apply(&operator, &permit, true).await, RS021);
    assert_eq!(
        facts,
        json!({ "machine": "birth_permit@9.0.0", "guards": ["NEW-BORN-ROW", "NEW-PERMIT-LIVE", "NEW-TTL-ELAPSED"] })
    );
    assert_eq!(before, db.fingerprint().await);
    apply(&operator, &permit, false).await.expect("stored without being active");

    let mut migrator = room(&db).await;
    for (guard, reads) in [
        ("NEW-PERMIT-LIVE", "{}"),
        ("NEW-TTL-ELAPSED", "{history}"),
        ("NEW-BORN-ROW", "{room_row}"),
    ] {
        assert!(
            !active(&operator).await.iter().any(|id| id.starts_with("birth_permit@9")),
            "not yet"
        );
        assert_eq!(codes(apply(&operator, &permit, true).await), [RS021]);
        register(&mut migrator, guard, "room.holds", reads).await.expect("a fit guard");
    }
    let applied = apply(&operator, &permit, true).await.expect("all guards are there");
    assert_eq!(
        (applied.outcome.as_str(), applied.active, applied.guards_not_registered),
        ("activated", true, vec![])
    );
    let reads: Vec<Vec<String>> =
        sqlx::query_scalar("select reads from fsm.transition_def where label = 'finalize' and state_machine_id = 'birth_permit@9.0.0'")
            .fetch_all(&mut db.superuser().await)
            .await
            .expect("rows");
    assert_eq!(reads, [["room_row"]], "a move locks what the registered guard reads");

    // Registering again is a change of the guard, not a second one.
    let before = db.fingerprint().await;
    register(&mut migrator, "NEW-BORN-ROW", "room.holds", "{room_row}")
        .await
        .expect("the same again");
    assert_eq!(before, db.fingerprint().await);
}

/// FSM-8: the predicate that is asked is the registered one; one that cannot say is a no.
#[tokio::test]
async fn a_predicate_that_cannot_say_is_a_no() {
    let db = TestDb::new().await;
    let mut migrator = room(&db).await;
    for (guard, function) in
        [("G-YES", "room.holds"), ("G-UNSURE", "room.says_nothing"), ("G-EVEN", "room.asks")]
    {
        register(&mut migrator, guard, function, "{}").await.expect("a fit guard");
    }
    let asked: Vec<(bool, bool, bool, bool, bool)> = sqlx::query_as(
        "select fsm.ask_predicate('room.holds', '{}'), fsm.ask_predicate('room.says_nothing', '{}'),
                fsm.ask_predicate('room.asks', '{\"run\": {\"seq\": 2}}'), fsm.ask_predicate('room.asks', '{\"run\": {\"seq\": 3}}'),
                fsm.ask_predicate('room.unheard_of', '{}')",
    )
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("answers");
    assert_eq!(asked, [(true, false, true, false, false)]);
}

/// FSM-8: a function that could write, that a caller could lead astray, or that reads what nobody locks is no guard.
#[tokio::test]
async fn an_unfit_function_is_no_guard() {
    let db = TestDb::new().await;
    let mut migrator = room(&db).await;
    let before = db.fingerprint().await;
    let cases = [
        ("room.writes", "{}"),
        ("room.never_looks", "{}"),
        ("room.with_the_callers_rights", "{}"),
        ("room.of_another_owner", "{}"),
        ("room.with_an_open_path", "{}"),
        ("room.with_temp_first", "{}"),
        ("room.says_it_in_words", "{}"),
        ("room.takes_text", "{}"),
        ("room.unheard_of", "{}"),
        ("room.holds", "{moon}"),
        ("room.holds", "{parent,moon}"),
    ];
    for (function, reads) in cases {
        let answer = register(&mut migrator, "G-UNFIT", function, reads).await;
        assert_eq!(codes(answer), [RS022], "{function} {reads}");
    }
    assert_eq!(before, db.fingerprint().await);
}

async fn register(
    migrator: &mut PgConnection,
    guard: &str,
    function: &str,
    reads: &str,
) -> Result<(), Error> {
    sqlx::query("select fsm.fn_guard_register($1, $2, $3::text::text[], 'a guard of the test')")
        .bind(guard)
        .bind(function)
        .bind(reads)
        .execute(migrator)
        .await?;
    Ok(())
}

/// A room with one lock target and functions fit and unfit to be guards; gives the operator's connection.
async fn room(db: &TestDb) -> PgConnection {
    let fit = "stable security definer set search_path = pg_catalog, pg_temp";
    let functions = [
        ("holds(p_context jsonb) returns boolean", fit, "select true"),
        ("says_nothing(p_context jsonb) returns boolean", fit, "select null::boolean"),
        (
            "asks(p_context jsonb) returns boolean",
            fit,
            "select (p_context #>> '{run,seq}')::int % 2 = 0",
        ),
        (
            "writes(p_context jsonb) returns boolean",
            "volatile security definer set search_path = pg_catalog, pg_temp",
            "select true",
        ),
        (
            "never_looks(p_context jsonb) returns boolean",
            "immutable security definer set search_path = pg_catalog, pg_temp",
            "select true",
        ),
        (
            "with_the_callers_rights(p_context jsonb) returns boolean",
            "stable set search_path = pg_catalog, pg_temp",
            "select true",
        ),
        ("of_another_owner(p_context jsonb) returns boolean", fit, "select true"),
        (
            "with_an_open_path(p_context jsonb) returns boolean",
            "stable security definer",
            "select true",
        ),
        (
            "with_temp_first(p_context jsonb) returns boolean",
            "stable security definer set search_path = pg_temp, pg_catalog",
            "select true",
        ),
        ("says_it_in_words(p_context jsonb) returns text", fit, "select 'yes'"),
        ("takes_text(p_context text) returns boolean", fit, "select true"),
        ("lock_room_row(p_run_kind text, p_run_id uuid) returns void", "", "select"),
    ];
    let mut statements = vec![
        "create schema room".to_owned(),
        "grant usage on schema room to chancery_definer, chancery_guard".to_owned(),
        "grant create on schema room to chancery_guard".to_owned(),
    ];
    for (signature, manner, body) in functions {
        let owner = if signature.starts_with("of_another_owner") {
            "chancery_definer"
        } else {
            "chancery_guard"
        };
        let (called, _) = signature.split_once(" returns").expect("a signature");
        statements.push(format!(
            "create function room.{signature} language sql {manner} as $body$ {body} $body$"
        ));
        statements.push(format!("alter function room.{called} owner to {owner}"));
        statements.push(format!("grant execute on function room.{called} to chancery_definer"));
    }
    statements.extend([
        "set role chancery_owner".to_owned(),
        "insert into fsm.lock_target_def values ('room_row', 'room.lock_room_row', 'a row of the room')".to_owned(),
    ]);
    let mut admin = db.superuser().await;
    for statement in statements {
        admin
            .execute(AssertSqlSafe(statement.clone()))
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    db.connect(Role::Migrator).await
}

/// FSM-11: a proposed transition can't fire; once a version declares it approved, runs of that version can use it.
#[tokio::test]
async fn a_proposed_transition_waits_for_its_approval() {
    let (db, store) = letters().await;
    let old = draft(&store).await;
    let before = db.fingerprint().await;
    assert_eq!(codes(store.fn_state_transition_apply(&post(old)).await), [RS011]);
    let preview = store.fn_state_transition_validate(&post(old)).await.expect("a preview");
    assert_eq!(preview.problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [RS011]);
    assert_eq!(before, db.fingerprint().await);

    db.machine(&letter("2.0.0").replace(", proposed: true", "")).await;
    let new = draft(&store).await;
    store.fn_state_transition_apply(&post(new)).await.expect("approved in this version");
    assert_eq!(
        codes(store.fn_state_transition_apply(&post(old)).await),
        [RS011],
        "the run's own version counts"
    );
    let held = a_move(old, "checked", "reader", "reviewer", "rpc:letter_check", json!({}));
    store.fn_state_transition_apply(&held).await.expect("the approved way is open");
    assert!(
        start(&store, "letter@1.0.0", json!({})).await.is_err(),
        "no new runs of a version that is not active"
    );
}

/// FSM-9: a version older than the active one becomes active only when that is said; applying the active one again changes nothing.
#[tokio::test]
async fn an_older_version_is_not_made_active_by_the_way() {
    let db = TestDb::new().await;
    let operator = db.store(Role::Migrator);
    let active = async || {
        db.text(
            "select state_machine_id from fsm.state_machine_def where active and name = 'letter'",
        )
        .await
    };
    for version in ["1.9.0", "1.10.0-rc.2", "1.10.0-rc.10", "1.10.0"] {
        apply(&operator, &document(&letter(version)), true)
            .await
            .expect("newer than the one before");
    }
    assert_eq!(active().await, "letter@1.10.0");
    let before = db.fingerprint().await;
    let unchanged = apply(&operator, &document(&letter("1.10.0")), true).await.expect("the same");
    assert_eq!((unchanged.outcome.as_str(), unchanged.active), ("unchanged", true));
    // Stored before or not.
    for version in ["1.9.0", "1.10.0-rc.10", "1.2.0", "0.99.99"] {
        let facts = refused(apply(&operator, &document(&letter(version)), true).await, RS028);
        let machine = format!("letter@{version}");
        assert_eq!(facts, json!({ "machine": machine, "active": "letter@1.10.0" }));
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");

    let stored = apply(&operator, &document(&letter("1.2.0")), false).await.expect("stored only");
    assert_eq!((stored.outcome.as_str(), stored.active), ("created", false));
    assert_eq!(active().await, "letter@1.10.0");
    let back = apply_older(&operator, &document(&letter("1.9.0"))).await;
    assert_eq!(back.expect("it was said").outcome, "activated");
    assert_eq!(active().await, "letter@1.9.0");
}
