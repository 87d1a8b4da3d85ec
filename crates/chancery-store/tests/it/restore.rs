//! EVT-2, AUD-1: a dump restored into another cluster goes on where the first one stopped: positions stay, what had none gets
//! one, nothing twice, and the guards are armed. Transaction numbers begin anew there, so nothing may rest on them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use chancery_engine::audit;
use chancery_engine::event::sequence_now;
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::{Role, Store, Target};
use sqlx::ConnectOptions as _;
use sqlx::Executor as _;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::hardening::sqlstate;
use crate::outbox::{delivered, meters, new_meter, tick};
use crate::session::{Isolation, Session};

/// A cluster of its own, gone with the value.
struct Elsewhere {
    cluster: Arc<Cluster>,
    folder: TempDir,
}

impl Elsewhere {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // The server's user must be able to enter.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("our own folder");
        let home =
            Home::resolve(Some(folder.path().join("home")), &Env::default()).expect("a home");
        let path = std::env::var_os("PATH");
        let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home))
            .expect("server binaries");
        let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = Options {
            extra_settings: vec![
                setting("shared_buffers", "16MB"),
                setting("max_connections", "40"),
            ],
            ..Options::default()
        };
        let cluster = Arc::new(Cluster::open(home, binaries, options).expect("a cluster"));
        let starting = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || starting.start().expect("it starts"))
            .await
            .expect("no panic");
        Self { cluster, folder }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // A test that broke off half-way must not leave a server behind.
        let _ = self.cluster.stop();
    }
}

/// Where and as whom, in the words of the client programs.
fn url(options: &PgConnectOptions) -> String {
    let mut url = options.to_url_lossy();
    url.set_query(None);
    url.to_string()
}

async fn run(mut command: Command) {
    let output =
        tokio::task::spawn_blocking(move || command.output().expect("the program is there"))
            .await
            .expect("no panic");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The database's dump, made by the login that exists for it.
async fn dump(elsewhere: &Elsewhere, from: &Target, file: &Path) {
    let mut command = elsewhere.cluster.binaries().command("pg_dump");
    command.args(["--format=custom", "--no-password"]).arg("--file").arg(file);
    command.arg(format!("--dbname={}", url(&from.options(Role::Backup).expect("a login"))));
    run(command).await;
}

async fn restore(elsewhere: &Elsewhere, to: &Target, file: &Path) {
    let mut postgres = to
        .clone()
        .with_database("postgres")
        .admin_options()
        .connect()
        .await
        .expect("the superuser");
    let create = format!("create database \"{}\"", to.database());
    postgres.execute(sqlx::AssertSqlSafe(create)).await.expect("a database");
    let mut command = elsewhere.cluster.binaries().command("pg_restore");
    command.args(["--exit-on-error", "--no-password"]);
    command.arg(format!("--dbname={}", url(&to.admin_options()))).arg(file);
    run(command).await;
    to.apply_database_settings().await.expect("what a dump does not carry");
}

#[tokio::test]
async fn a_restored_database_goes_on_where_it_stopped() {
    let (db, store, runs) = meters(4).await;
    for _ in 0..3 {
        for run in &runs {
            store.fn_state_transition_apply(&tick(*run)).await.expect("ticked");
        }
    }
    sequence_now(&store).await.expect("positions");
    let sequenced = delivered(&store).await;
    // Committed without a position, and one that is still open while the dump is made.
    for run in &runs[1..] {
        store.fn_state_transition_apply(&tick(*run)).await.expect("ticked");
    }
    let mut open = Session::open(&db, Role::App).await;
    open.begin(Isolation::ReadCommitted).await;
    open.apply(&tick(runs[0])).await.expect("ticked, not committed");

    let elsewhere = Elsewhere::start().await;
    let file = elsewhere.folder.path().join("chancery.dump");
    dump(&elsewhere, db.target(), &file).await;
    open.commit().await.expect("committed after the dump");

    // Roles belong to the cluster and stand in no dump; a release brings them.
    let target = Target::managed(&elsewhere.cluster).expect("the other cluster");
    target.clone().with_database("roles_only").migrate().await.expect("roles and their passwords");
    restore(&elsewhere, &target, &file).await;
    let there = Store::open(&target, Role::App).expect("a store");

    assert_eq!(delivered(&there).await, sequenced, "positions stay what they were");
    let unsequenced: Vec<_> = runs[1..].iter().map(|run| (*run, 5)).collect();
    let unstamped = async || there.fn_feed(0, 1).await.expect("a page").unstamped;
    assert!(unstamped().await, "whoever listens knows that a pass is due");
    assert_eq!(
        sequence_now(&there).await.expect("positions"),
        i64::try_from(sequenced.len() + 3).expect("a few")
    );
    assert!(!unstamped().await, "and that it was made");
    assert_eq!(delivered(&there).await[sequenced.len()..], unsequenced, "what had none got one");

    let mut late = Session::open_at(&target, Role::App).await;
    late.begin(Isolation::ReadCommitted).await;
    late.apply(&tick(runs[0])).await.expect("ticked, not committed");
    for run in &runs[1..] {
        there.fn_state_transition_apply(&tick(*run)).await.expect("ticked");
        sequence_now(&there).await.expect("positions");
    }
    late.commit().await.expect("committed last");
    let born = there.fn_run_start(&new_meter()).await.expect("a new meter").run_id;
    for _ in 0..3 {
        sequence_now(&there).await.expect("positions");
    }
    let mut expected = sequenced.clone();
    expected.extend(unsequenced);
    expected.extend(runs[1..].iter().map(|run| (*run, 6)));
    expected.extend([(runs[0], 5), (born, 1)]);
    assert_eq!(delivered(&there).await, expected, "once each, in the order of their commits");

    // As sound as it was.
    let auditor = Store::open(&target, Role::Auditor).expect("a store");
    let report = audit::verify_log(&auditor, |_| ()).await.expect("an audit");
    assert_eq!((report.mismatches, report.runs), (Vec::new(), 5));
    let failing: Vec<_> =
        auditor.ground().await.expect("an answer").into_iter().filter(|check| !check.ok).collect();
    assert_eq!(
        failing,
        [],
        "guard triggers are ALWAYS, no function is open, the rules are this binary's"
    );
    let again = target.migrate().await.expect("the same release");
    assert!(again.applied.is_empty() && !again.rules_applied, "nothing to do: {again:?}");
    let mut admin = target.admin_options().connect().await.expect("the superuser");
    admin.execute("set session_replication_role = replica").await.expect("the superuser may");
    for (statement, code) in [
        ("update fsm.run set state_code = 'stopped'", "RS017"),
        ("delete from fsm.transition_log", "RS016"),
        ("truncate event.event_outbox", "RS016"),
    ] {
        let error = admin.execute(statement).await.expect_err(statement);
        assert_eq!(sqlstate(&error), code, "{statement}");
    }
}
