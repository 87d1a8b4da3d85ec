//! AUD-1: what an older release wrote verifies for ever. `tests/data/old` has a database and two bundles of the last release before
//! digests had versions; its README says how they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use chancery_engine::audit::{self, Mismatch, Pins, Report};
use chancery_engine::identity::{Keystore, new_key};
use chancery_engine::run::{self, Actor, Birth};
use chancery_model::envelope::Statement;
use chancery_model::evidence::{self, Registry, Table};
use chancery_store::kb::Put;
use chancery_store::managed::{BinarySearch, Env, Home, find_binaries};
use chancery_store::{Error, Role};
use chancery_testkit::{TestDb, repo_path};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::support::LETTER;
use crate::tamper::sealed;

/// The one table of evidence in which the old database has no row: units of a cut are enacted before anybody drafts another text.
const EMPTY: &str = "iu.unit_edit_draft";
/// The entry of the bundle `orchestrated`, which a run drove.
const DRIVEN: &str = "quy-che-luu-tru";

fn old(name: &str) -> PathBuf {
    repo_path(&format!("crates/chancery-store/tests/data/old/{name}"))
}

fn bundle(name: &str) -> Vec<u8> {
    std::fs::read(old(&format!("{name}.bundle"))).expect("a bundle that is kept")
}

/// The old database as a restore leaves it, before any release was put into it.
async fn restored() -> TestDb {
    let db = TestDb::new().await;
    db.superuser()
        .await
        .execute("drop schema internal, config, identity, event, fsm, audit, iu, cutter_governance, approval, kb, orchestrator, queue, governance, birth, workflow cascade")
        .await
        .expect("emptied");
    let unpacked = Command::new("xz").arg("-dc").arg(old("database.sql.xz")).output();
    let unpacked = unpacked.expect("xz is missing: apt-get install xz-utils").stdout;
    // Newer clients write these lines, which older ones do not know.
    let text = String::from_utf8(unpacked).expect("text");
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("database.sql");
    std::fs::write(&script, text).expect("our own folder");
    let home = Home::resolve(Some(folder.path().join("home")), &Env::default()).expect("a home");
    let path = std::env::var_os("PATH");
    let binaries =
        find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home)).expect("binaries");
    let mut url = sqlx::ConnectOptions::to_url_lossy(&db.target().admin_options());
    url.set_query(None);
    let mut psql = binaries.command("psql");
    psql.args(["-qX", "-v", "ON_ERROR_STOP=1", "--file"]).arg(&script).arg(url.as_str());
    psql.stdout(Stdio::null());
    let done = tokio::task::spawn_blocking(move || psql.output().expect("psql"));
    let done = done.await.expect("no panic");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    db.superuser().await.execute("analyze").await.expect("statistics");
    db
}

/// The old database, brought up to this release.
async fn migrated() -> TestDb {
    let db = restored().await;
    // Tables that were just filled are analysed in the background, and that can meet a release half-way. It is applied whole or not
    // at all, so it is asked for again, as an operator would.
    let mut tries = 0;
    let migrated = loop {
        match db.target().migrate().await {
            Ok(migrated) => break migrated,
            Err(Error::Conflict(_)) if tries < 9 => tries += 1,
            Err(error) => panic!("this release: {error:?}"),
        }
    };
    assert!(migrated.applied.contains(&"0030_digest_versions".to_owned()), "{migrated:?}");
    db
}

async fn audited(registry: &Arc<Registry>, db: &TestDb) -> Report {
    let auditor = db.store(Role::Auditor);
    audit::verify_as(registry, &auditor, Pins::default(), |_| ()).await.expect("an audit")
}

async fn run(db: &TestDb, statements: &[String]) -> u64 {
    let mut admin = db.superuser().await;
    admin.execute("set session_replication_role = replica").await.expect("the superuser may");
    let mut changed = 0;
    for statement in statements {
        let done = admin.execute(AssertSqlSafe(statement.clone())).await;
        changed += done.unwrap_or_else(|error| panic!("{statement}: {error}")).rows_affected();
    }
    changed
}

async fn texts(db: &TestDb, query: &str) -> Vec<String> {
    db.texts(query).await.into_iter().flatten().collect()
}

/// No trigger and no check stands in the way any more; the evidence as it is now is kept aside.
async fn disarm(db: &TestDb) {
    let mut statements = texts(
        db,
        "select format('alter table %s disable trigger user', t) from (select table_name as t from audit.evidence_def union all select 'fsm.transition_log') x
         union all
         select format('alter table %s drop constraint %I cascade', k.conrelid::regclass, k.conname)
           from pg_constraint k join (select table_name::regclass as t from audit.evidence_def union all select 'fsm.transition_log') x on k.conrelid = x.t
          where k.contype = 'c' and k.conparentid = 0
         union all
         select format('alter table %s alter column %I drop not null', x.t, a.attname)
           from (select table_name::regclass as t from audit.evidence_def) x join pg_attribute a on a.attrelid = x.t
          where a.attnum > 0 and a.attnotnull and not a.attisdropped
            and not exists (select from pg_index i where i.indrelid = x.t and i.indisprimary and a.attnum = any (i.indkey))",
    )
    .await;
    statements.push("create schema kept".to_owned());
    statements.extend(
        texts(db, "select format('create table kept.%I as table %s', t, t) from (select table_name as t from audit.evidence_def union all select 'fsm.transition_log') x").await,
    );
    run(db, &statements).await;
}

async fn put_back(db: &TestDb) {
    let statements = texts(
        db,
        "select format('delete from %1$s; insert into %1$s table kept.%1$I', t) from (select table_name as t from audit.evidence_def union all select 'fsm.transition_log') x",
    )
    .await;
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(format!(
            "set session_replication_role = replica; {statement}"
        )))
        .execute(&mut db.superuser().await)
        .await
        .expect("put back");
    }
}

/// The tables in which the audit finds a row that breaks a rule.
fn breaking(report: &Report, rule: &str) -> BTreeSet<&'static str> {
    let of_rule = report.mismatches.iter().filter(|mismatch| mismatch.rule == rule);
    of_rule.map(|mismatch| mismatch.table).collect()
}

fn named(tables: &[String]) -> BTreeSet<&str> {
    tables.iter().map(String::as_str).collect()
}

/// AUD-1: a database of the last release before digests had versions is clean when this release was put into it, whole; and a value
/// that is removed or changed in it, a row that is gone and a version that is forged are found in every table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_an_older_release_verifies_and_nothing_in_it_can_be_changed() {
    let db = migrated().await;
    let release = evidence::release();
    let report = audited(release, &db).await;
    assert_eq!(report.mismatches, []);
    assert_eq!((report.runs, report.entries), (621, 5));
    assert_eq!((report.rows, report.signatures), (1_711, 100));
    let seen: BTreeSet<&str> =
        report.evidence.iter().filter(|(_, rows)| **rows > 0).map(|(table, _)| *table).collect();
    let all: BTreeSet<&str> = release.tables().iter().map(Table::name).collect();
    assert_eq!(&all - &seen, BTreeSet::from([EMPTY]));
    let versions = "select string_agg(distinct v, ',') from (select digest_version::text as v from kb.revision union all select hash_version::text from fsm.transition_log) x";
    assert_eq!(db.text(versions).await, "1");

    disarm(&db).await;
    let tables: Vec<String> =
        all.iter().filter(|table| **table != EMPTY).map(|table| (*table).to_owned()).collect();
    // One value of each table is gone: of a column that can do without, where a row has a value there.
    let mut changes = Vec::new();
    for table in &tables {
        let known = release.table(table).expect("a table of evidence");
        let key: BTreeSet<&str> = known.key().iter().map(|(name, _)| *name).collect();
        let pinned = known.versions()[0].iter().filter(|name| !key.contains(**name));
        let counts = pinned.map(|name| {
            format!("select '{name}' as name, count({name}) as n, count(*) as of from {table}")
        });
        let counts = counts.collect::<Vec<_>>().join(" union all ");
        let column = db
            .text(&format!(
                "select name from ({counts}) x where n > 0 order by n < of desc, name limit 1"
            ))
            .await;
        changes.push(format!(
            "update {table} set {column} = null where ctid = (select min(ctid) from {table} where {column} is not null)"
        ));
    }
    changes.push("update fsm.transition_log set reason = null where ctid = (select min(ctid) from fsm.transition_log where reason is not null)".to_owned());
    assert_eq!(run(&db, &changes).await, u64::try_from(tables.len() + 1).expect("a few"));
    let report = audited(release, &db).await;
    assert_eq!(breaking(&report, "digest_is_of_the_row"), named(&tables));
    assert_eq!(breaking(&report, "hash_is_of_the_row"), BTreeSet::from(["fsm.transition_log"]));
    put_back(&db).await;

    // A version that no release has.
    let change = |table: &String| {
        format!(
            "update {table} set digest_version = 2 where ctid = (select min(ctid) from {table})"
        )
    };
    let mut changes: Vec<String> = tables.iter().map(change).collect();
    changes.push("update fsm.transition_log set hash_version = 2 where ctid = (select min(ctid) from fsm.transition_log)".to_owned());
    run(&db, &changes).await;
    let report = audited(release, &db).await;
    assert_eq!(breaking(&report, "digest_version_is_known"), named(&tables));
    assert_eq!(breaking(&report, "hash_version_is_known"), BTreeSet::from(["fsm.transition_log"]));
    put_back(&db).await;
    assert_eq!(audited(release, &db).await.mismatches, [], "everything was put back");
}

/// AUD-1: bundles of the last release before digests had versions fit, and a bundle of the same entries made now says the same.
#[tokio::test]
async fn bundles_of_an_older_release_verify() {
    for (name, rows, signatures) in [("cut", 5, 7), ("orchestrated", 19, 11)] {
        let file = bundle(name);
        let report = audit::verify_bundle(&file, Pins::default()).await.expect("a report");
        assert_eq!(report.mismatches, [], "{name}");
        assert_eq!((report.rows, report.signatures), (rows, signatures), "{name}");
        let text = String::from_utf8_lossy(&file);
        assert!(
            !text.contains("digest_version") && !text.contains("hash_version"),
            "{name} is old"
        );
    }
    let db = migrated().await;
    let entry = entry_of(&db, DRIVEN).await;
    let now = audit::export(&db.store(Role::Auditor), entry).await.expect("an answer").expect("it");
    let report = audit::verify_bundle(&now, Pins::default()).await.expect("a report");
    assert_eq!((report.mismatches, report.rows, report.signatures), (vec![], 19, 11));
    assert_eq!(
        without_versions(&document(&now)),
        without_versions(&document(&bundle("orchestrated")))
    );
}

async fn entry_of(db: &TestDb, document: &str) -> Uuid {
    let query = format!(
        "select entry_id::text from cutter_governance.decision_backlog_entry where document_id = '{document}'"
    );
    db.text(&query).await.parse().expect("an id")
}

fn document(file: &[u8]) -> Value {
    let line = file.split(|byte| *byte == b'\n').next().expect("a line");
    serde_json::from_slice(line).expect("JSON")
}

/// What a bundle says, without the columns that came with this release.
fn without_versions(document: &Value) -> BTreeMap<String, Vec<BTreeMap<String, Value>>> {
    let tables = document["tables"].as_object().expect("tables");
    let tables = tables.iter().map(|(name, held)| (name.as_str(), held));
    let held = tables.chain([("log", &document["log"])]);
    let rows = |held: &Value| {
        let columns: Vec<String> =
            serde_json::from_value(held["columns"].clone()).expect("columns");
        let rows = held["rows"].as_array().expect("rows").iter();
        rows.map(|row| {
            let values = row.as_array().expect("a row").iter().cloned();
            let named = columns.iter().cloned().zip(values);
            named.filter(|(name, _)| name != "digest_version" && name != "hash_version").collect()
        })
        .collect()
    };
    held.map(|(name, held)| (name.to_owned(), rows(held))).collect()
}

/// What a later release knows: a table with one column more, one with a column under another name, and a log with one column more.
fn later() -> Arc<Registry> {
    let registry = Registry::of_this_release()
        .with_table("kb.revision", |table| table.add_columns("language"))
        .with_table("iu.source_document", |table| table.rename_column("created_by", "added_by"))
        .with_log(|log| log.add_texts("login", Statement::of_log_row_v1));
    Arc::new(registry)
}

/// That release's migration, and what it changes in functions and views.
const LATER: &str = r#"
set role chancery_owner;
alter table kb.revision add column language text;
insert into audit.evidence_version select table_name, 2, columns || '{language}' from audit.evidence_version where table_name = 'kb.revision';
alter table iu.source_document rename column created_by to added_by;
update audit.evidence_version set columns = array_replace(columns, 'created_by', 'added_by') where table_name = 'iu.source_document';
alter table fsm.transition_log add column login text;
alter table fsm.transition_log alter column login set default session_user::text, alter column hash_version set default 2;
insert into audit.evidence_version select table_name, 2, columns || '{login}' from audit.evidence_version where table_name = 'fsm.transition_log';
reset role;
alter view iu.v_source_document rename column created_by to added_by;
do $rewrite$
begin
  execute replace(replace(replace(pg_get_functiondef('internal.log_hash'::regproc), 'chancery.log.v1,', 'chancery.log.v2,'),
    'octet_length(p_idempotency_key), '':''', 'octet_length(p_idempotency_key), '','', octet_length(session_user::text), '':'''),
    'p_event_type, p_idempotency_key' || chr(10), 'p_event_type, p_idempotency_key, session_user::text' || chr(10));
  execute replace(pg_get_functiondef('iu.fn_source_add'::regproc), 'address_docprefix, created_by', 'address_docprefix, added_by');
  execute 'create or replace view fsm.v_transition_log with (security_barrier) as '
    || replace(rtrim(pg_get_viewdef('fsm.v_transition_log'::regclass), ';'), 'hash_version', 'hash_version, login');
  execute 'create or replace view kb.v_revision with (security_barrier) as '
    || replace(rtrim(pg_get_viewdef('kb.v_revision'::regclass), ';'), 'digest_version', 'digest_version, language');
end
$rewrite$;
-- What fills the new column, whoever writes.
create function public.in_english() returns trigger language plpgsql as $body$
begin
  new.language := case when new.path like 'notes/%' then 'en' end;
  return new;
end
$body$;
create trigger in_english before insert on kb.revision for each row execute function public.in_english();
alter table kb.revision enable always trigger in_english;
select internal.generate_digests();
"#;

/// The old database under that later release, with something written by it: a signed run, a document, and two revisions.
async fn later_database() -> TestDb {
    let db = migrated().await;
    sqlx::raw_sql(LATER).execute(&mut db.superuser().await).await.expect("the later release");
    db.machine(LETTER).await;
    let operator = db.store(Role::Migrator);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keystore = Keystore::below(folder.path());
    let classes = ["reviewer".to_owned(), "executor_worker".to_owned()];
    operator.fn_principal_add("nora", "human", &classes, None).await.expect("a person");
    new_key(&operator, &keystore, "nora", None).await.expect("a key");
    let store = db.store(Role::App);
    let nora = Actor::open(&store, &keystore, "nora").await.expect("nora");
    let birth = Birth { data: Some(json!({ "words": 3 })), ..Birth::default() };
    run::start(&store, &nora, "letter", &birth).await.expect("begun");
    store
        .fn_source_add("later", Some("LATER"), "text/markdown", b"# Later\n", "nora")
        .await
        .expect("a source");
    for (path, body) in [("notes/one", "one"), ("two", "zwei")] {
        let put = Put {
            path,
            kind: "note",
            body,
            expected_revision: None,
            principal: "nora",
            actor_class: "reviewer",
        };
        store.fn_kb_put(&put).await.expect("a revision");
    }
    db
}

/// AUD-1: a column that a later release adds or renames leaves everything valid that was written before, and covers what is written
/// after; a value put into the new column of an old row, a value that is removed and a version that is forged are found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_of_a_later_release_leave_old_rows_and_bundles_valid() {
    let (db, later) = (later_database().await, later());
    let report = audited(&later, &db).await;
    assert_eq!(report.mismatches, []);
    assert_eq!((report.runs, report.rows, report.signatures), (622, 1_712, 101));
    for (query, versions) in [
        (
            "select string_agg(digest_version || coalesce(language, '-'), ',' order by path) from kb.revision where path in ('notes/one', 'two')",
            "2en,2-",
        ),
        ("select string_agg(distinct digest_version::text, ',') from iu.source_document", "1"),
        (
            "select string_agg(hash_version || login, ',') from fsm.transition_log where hash_version <> 1",
            "2chancery_app",
        ),
    ] {
        assert_eq!(db.text(query).await, versions, "{query}");
    }

    // Old bundles, and a new one; a release that knows less says so.
    for name in ["cut", "orchestrated"] {
        let report = audit::verify_bundle_as(&later, &bundle(name), Pins::default()).await;
        assert_eq!(report.expect("a report").mismatches, [], "{name}");
    }
    let auditor = db.store(Role::Auditor);
    let entry = entry_of(&db, DRIVEN).await;
    let file = audit::export_as(&later, &auditor, entry).await.expect("an answer").expect("it");
    let report = audit::verify_bundle_as(&later, &file, Pins::default()).await.expect("a report");
    assert_eq!((report.mismatches, report.signatures), (vec![], 11));
    let report = audit::verify_bundle(&file, Pins::default()).await.expect("a report");
    assert!(!report.ok() && !breaking(&report, "bundle_is_readable").is_empty(), "{report:?}");
    let report = audited(evidence::release(), &db).await;
    assert_eq!(
        breaking(&report, "columns_are_known"),
        BTreeSet::from(["fsm.transition_log", "iu.source_document", "kb.revision"])
    );

    // Stamped once more, as a change of a column outside the digest does: each row keeps its version and its digest.
    disarm(&db).await;
    let again = texts(&db, "select format('alter table %1$s enable always trigger zz_stamps_its_digest; update %1$s set row_digest = null, digest_version = 9; alter table %1$s disable trigger zz_stamps_its_digest', table_name) from audit.evidence_def").await;
    for statement in again {
        let mut admin = db.superuser().await;
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await.expect("stamped again");
    }
    assert_eq!(audited(&later, &db).await.mismatches, []);
    let moved = texts(&db, "select format('(select count(*) from (table %1$s except table kept.%1$I) x)', table_name) from audit.evidence_def").await;
    assert_eq!(db.text(&format!("select ({})::text", moved.join(" + "))).await, "0");

    let (document, revision) = ("iu.source_document", "kb.revision");
    let log = "fsm.transition_log";
    for (change, table, rule) in [
        (
            "update kb.revision set language = 'vi' where ctid = (select min(ctid) from kb.revision where digest_version = 1)",
            revision,
            "column_is_of_the_version",
        ),
        (
            "update kb.revision set language = 'vi' where path = 'notes/one'",
            revision,
            "digest_is_of_the_row",
        ),
        (
            "update kb.revision set language = null where path = 'notes/one'",
            revision,
            "digest_is_of_the_row",
        ),
        (
            "update kb.revision set language = '' where path = 'two'",
            revision,
            "digest_is_of_the_row",
        ),
        (
            "update kb.revision set digest_version = 1, language = null where path = 'notes/one'",
            revision,
            "digest_is_of_the_row",
        ),
        (
            "update kb.revision set digest_version = 1 where path = 'two'",
            revision,
            "digest_is_of_the_row",
        ),
        (
            "update kb.revision set digest_version = 2 where ctid = (select min(ctid) from kb.revision where digest_version = 1)",
            revision,
            "digest_is_of_the_row",
        ),
        (
            "update kb.revision set digest_version = 3 where path = 'two'",
            revision,
            "digest_version_is_known",
        ),
        (
            "update iu.source_document set added_by = null where document_id = 'later'",
            document,
            "digest_is_of_the_row",
        ),
        (
            "update iu.source_document set added_by = 'nora' where document_id = 'records-policy'",
            document,
            "digest_is_of_the_row",
        ),
        (
            "update fsm.transition_log set login = 'chancery_app' where ctid = (select min(ctid) from fsm.transition_log)",
            log,
            "column_is_of_the_version",
        ),
        (
            "update fsm.transition_log set login = null where hash_version = 2",
            log,
            "hash_is_of_the_row",
        ),
        (
            "update fsm.transition_log set hash_version = 1, login = null where hash_version = 2",
            log,
            "hash_is_of_the_row",
        ),
        (
            "update fsm.transition_log set hash_version = 2 where ctid = (select min(ctid) from fsm.transition_log)",
            log,
            "hash_is_of_the_row",
        ),
        (
            "update fsm.transition_log set hash_version = 3 where hash_version = 2",
            log,
            "hash_version_is_known",
        ),
    ] {
        assert_eq!(run(&db, &[change.to_owned()]).await, 1, "{change}");
        let found: Vec<Mismatch> = audited(&later, &db).await.mismatches;
        assert!(
            found.iter().any(|mismatch| mismatch.table == table && mismatch.rule == rule),
            "{change}: {found:?}"
        );
        put_back(&db).await;
    }
    assert_eq!(audited(&later, &db).await.mismatches, [], "everything was put back");
}

/// AUD-1: what this reader and the one in the browser (ui/tests/unit/verify.test.ts) find in changed files of an older release, to the
/// rule.
#[tokio::test]
async fn changed_bundles_break_the_same_rules_for_both_readers() {
    let text = std::fs::read_to_string(old("vectors.json")).expect("what is kept");
    let vectors: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert!(vectors.len() > 10, "{} vectors", vectors.len());
    let mut differing = Vec::new();
    for vector in &vectors {
        let text = |member: &str| vector[member].as_str().unwrap_or_default();
        let mut document = document(&bundle(text("bundle")));
        let held = match text("table") {
            "log" => &mut document["log"],
            table => &mut document["tables"][table],
        };
        put(held, text("column"), &vector["value"], vector["rows"].as_str().unwrap_or("first"));
        let registry = match text("release") {
            "later" => later(),
            _ => Arc::clone(evidence::release()),
        };
        let report = audit::verify_bundle_as(&registry, &sealed(&document), Pins::default()).await;
        let report = report.expect("a report");
        let rules: BTreeSet<&str> =
            report.mismatches.iter().map(|mismatch| mismatch.rule).collect();
        let rules = json!(rules);
        if rules != vector["rules"] {
            differing.push(format!("{vector} breaks {rules}"));
        }
    }
    assert_eq!(differing, Vec::<String>::new());
}

/// Puts a value into a column of the first row or of all rows; a column that is not there comes to be, with nothing in the other rows.
fn put(held: &mut Value, column: &str, value: &Value, rows: &str) {
    let mut columns: Vec<String> =
        serde_json::from_value(held["columns"].clone()).expect("columns");
    let place = columns.binary_search_by(|name| name.as_str().cmp(column));
    let all = held["rows"].as_array_mut().expect("rows");
    let place = place.unwrap_or_else(|place| {
        columns.insert(place, column.to_owned());
        all.iter_mut()
            .for_each(|row| row.as_array_mut().expect("a row").insert(place, Value::Null));
        place
    });
    let count = if rows == "all" { all.len() } else { 1 };
    all.iter_mut().take(count).for_each(|row| row[place] = value.clone());
    held["columns"] = json!(columns);
}
