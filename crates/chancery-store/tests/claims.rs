//! The claims in `sql/tests`: each file says one thing about one function and holds when it raises nothing.
//!
//! A file runs as a superuser in a transaction of its own that is rolled back. It finds the schema `t` with the assertions
//! below, a service `worker` and an active machine `parcel`.
//!
//! `cargo test -p chancery-store --test claims` shows each claim by itself. Nextest gives each test a process, and so a database, of
//! its own, which takes longer than what most claims do: there they are one test, in one database.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use chancery_testkit::{TestDb, repo_path};
use libtest_mimic::{Arguments, Failed, Trial};
use sqlx::{AssertSqlSafe, Connection as _};
use tokio::runtime::Runtime;

const ASSERTIONS: &str = r#"
create schema t;
-- Claims also speak as logins.
grant usage on schema t to public;

create function t.equal(p_actual text, p_expected text) returns void language plpgsql as $body$
begin
  if p_actual is distinct from p_expected then
    raise exception 'expected %, got %', coalesce(p_expected, '<null>'), coalesce(p_actual, '<null>');
  end if;
end
$body$;

create function t.refused(p_sqlstate text, p_statement text) returns void language plpgsql as $body$
declare
  v_message text;
begin
  begin
    execute p_statement;
  exception when others then
    get stacked diagnostics v_message = message_text;
    if sqlstate <> p_sqlstate then
      raise exception 'expected %, got % (%) from: %', p_sqlstate, sqlstate, v_message, p_statement;
    end if;
    return;
  end;
  raise exception 'expected %, but it was done: %', p_sqlstate, p_statement;
end
$body$;
"#;

const PARCEL: &str = r#"
machine: parcel
scope: custom
version: 1.0.0
description: A parcel that is packed and may have to wait.
data: { type: object, properties: { address: {} } }
events:
  - { type: parcel.packed, description: Somebody packed it., schema: { type: object, properties: { weight: { type: number, minimum: 0 } } } }
guards:
  - { name: has_address, kind: config, rule: '$.run.data.address != ""', reads: [], description: It says where to. }
states:
  - { code: open, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Open, vi: Mở }, message: { en: open, vi: mở } }
  - code: waiting
    class: wait
    color: ui.traffic_light.gray
    icon: icon.circle_hollow
    label: { en: Waiting, vi: Chờ }
    message: { en: waits, vi: chờ }
    facets:
      - { code: waiting_human, ordinal: 20, icon: icon.circle_hollow, label: { en: person, vi: người } }
      - { code: waiting_dependency, ordinal: 10, icon: icon.circle_hollow, label: { en: part, vi: phần } }
      - { code: waiting_time_gate, ordinal: 40, icon: icon.circle_hollow, label: { en: time, vi: giờ } }
  - { code: packed, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Packed, vi: Đã gói }, message: { en: packed, vi: đã gói } }
transitions:
  - { id: open, from: "∅", to: open, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_open } }
  - { id: wait, from: open, to: waiting, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_wait } }
  - { id: go_on, from: waiting, to: open, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_go_on } }
  - { id: pack, from: open, to: packed, actors: [executor_worker], trigger: { kind: rpc, ref: parcel_pack }, guards: [has_address], event: parcel.packed }
"#;

/// One database for all claims of this process, made when the first one runs: listing them needs none.
struct Ground {
    runtime: Runtime,
    db: OnceLock<TestDb>,
}

impl Ground {
    fn db(&self) -> &TestDb {
        self.db.get_or_init(|| {
            self.runtime.block_on(async {
                let db = TestDb::new().await;
                db.service("worker", &["executor_worker"]).await;
                db.machine(PARCEL).await;
                sqlx::raw_sql(ASSERTIONS)
                    .execute(&mut db.superuser().await)
                    .await
                    .expect("the assertions");
                db
            })
        })
    }

    fn check(&self, file: &PathBuf) -> Result<(), Failed> {
        let claim = std::fs::read_to_string(file)?;
        let db = self.db();
        self.runtime.block_on(async {
            let mut admin = db.superuser().await;
            let mut transaction = admin.begin().await?;
            let answer = sqlx::raw_sql(AssertSqlSafe(claim)).execute(&mut *transaction).await;
            transaction.rollback().await?;
            answer.map(drop).map_err(|error| Failed::from(told(&error)))
        })
    }
}

impl Ground {
    /// Every claim, whatever became of those before it.
    #[expect(clippy::print_stdout, reason = "one test says how many claims it is")]
    fn check_all(&self, claims: &[(String, PathBuf)]) -> Result<(), Failed> {
        let mut failed = String::new();
        for (name, file) in claims {
            if let Err(why) = self.check(file) {
                failed += &format!("{name}: {}\n", why.message().unwrap_or_default());
            }
        }
        println!("{} claims", claims.len());
        if failed.is_empty() { Ok(()) } else { Err(failed.into()) }
    }
}

/// What PostgreSQL says, with the place in the file's own statements.
fn told(error: &sqlx::Error) -> String {
    let Some(error) = error
        .as_database_error()
        .and_then(|e| e.try_downcast_ref::<sqlx::postgres::PgDatabaseError>())
    else {
        return error.to_string();
    };
    let parts = [Some(error.code()), Some(error.message()), error.detail(), error.r#where()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The claims, as `(function/claim, file)`.
fn claims() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(repo_path("sql/tests")).expect("sql/tests") {
        let folder = folder.expect("an entry").path();
        for file in std::fs::read_dir(&folder).expect("a folder a function") {
            let file = file.expect("an entry").path();
            let stem = |path: &PathBuf| {
                path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name").to_owned()
            };
            assert!(
                file.extension().is_some_and(|extension| extension == "sql"),
                "{} is no claim",
                file.display()
            );
            found.push((format!("{}/{}", stem(&folder), stem(&file)), file));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "the claims are there");
    found
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let ground =
        Arc::new(Ground { runtime: Runtime::new().expect("a runtime"), db: OnceLock::new() });
    let trials = if std::env::var_os("NEXTEST").is_some() {
        let ground = Arc::clone(&ground);
        vec![Trial::test("every_claim_holds", move || ground.check_all(&claims()))]
    } else {
        let trial = |(name, file): (String, PathBuf)| {
            let ground = Arc::clone(&ground);
            Trial::test(name, move || ground.check(&file))
        };
        claims().into_iter().map(trial).collect()
    };
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Before the process ends, so that the database goes with it.
    drop(ground);
    conclusion.exit_code()
}
