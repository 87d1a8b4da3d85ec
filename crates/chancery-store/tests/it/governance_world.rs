//! What the tests of findings, heartbeats and lag have in common.

use chancery_store::governance::Issue;
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, shipped};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};

/// A database where findings can be opened, with an operator who answers them, and the login of the loops.
pub(crate) async fn governed() -> (TestDb, Store) {
    let db = TestDb::new().await;
    let machine = shipped().into_iter().find(|machine| machine.machine == "finding");
    db.definition(&machine.expect("the machine of findings")).await;
    db.service("operator", &["pic_human"]).await;
    let store = db.store(Role::App);
    (db, store)
}

/// A report about a thing.
pub(crate) fn problem(code: &'static str) -> Issue<'static> {
    static NOTHING: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| json!({}));
    Issue {
        source: "test",
        severity: "warning",
        issue_type: "trouble",
        issue_class: "operation",
        title: "something is wrong",
        description: None,
        entity: Some(("thing", code)),
        evidence: &NOTHING,
        principal: "chancery",
        idempotency_key: None,
        trace_id: None,
        correlation_id: None,
    }
}

/// The product's clock is ahead of the wall's by this much from now on.
pub(crate) async fn clock_ahead(db: &TestDb, interval: &str) {
    let now = format!(
        "create or replace function internal.now() returns timestamptz language sql as $$ select clock_timestamp() + interval '{interval}' $$"
    );
    db.superuser().await.execute(AssertSqlSafe(now)).await.expect("the clock is one function");
}

/// Changes or adds a setting, as a migration would.
pub(crate) async fn setting(db: &TestDb, key: &str, value: &str) {
    let mut admin = db.superuser().await;
    admin.execute("set role chancery_owner").await.expect("the superuser may");
    sqlx::query(
        "insert into config.dot_config (key, value, description) values ($1, $2::jsonb, 'of a test')
         on conflict (key) do update set value = excluded.value",
    )
    .bind(key)
    .bind(value)
    .execute(&mut admin)
    .await
    .expect("a setting");
}

/// Lets the app's login run statements with the rights of a door, as the door of a room would that does not exist yet.
pub(crate) async fn as_a_room(db: &TestDb) {
    let mut admin = db.superuser().await;
    for statement in [
        "create schema room",
        "grant usage on schema room to chancery_app, chancery_definer",
        "create function room.ask(p_statement text) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp
           as $$ declare v_answer text; begin execute p_statement into v_answer; return v_answer; end $$",
        "alter function room.ask(text) owner to chancery_definer",
        "grant execute on function room.ask(text) to chancery_app",
    ] {
        admin.execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// What such a door answers.
pub(crate) async fn ask(db: &TestDb, statement: &str) -> Result<Option<String>, Error> {
    let mut connection = db.connect(Role::App).await;
    Ok(sqlx::query_scalar("select room.ask($1)").bind(statement).fetch_one(&mut connection).await?)
}

/// The types of a run's events, in order.
pub(crate) async fn events_of(db: &TestDb, run: uuid::Uuid) -> Vec<String> {
    let query = format!(
        "select event_type from event.event_outbox where subject_id = '{run}' order by outbox_id"
    );
    db.texts(&query).await.into_iter().flatten().collect()
}
