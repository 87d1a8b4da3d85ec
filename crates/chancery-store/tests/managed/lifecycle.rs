//! Starting, stopping, and what a running cluster guarantees.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use chancery_store::managed::{Cluster, Error, Options, Started, secrets};
use rustix::fs::{FlockOperation, flock};

use crate::support::*;

/// Names the data directory to the child process of one test.
const CHILD_HOME: &str = "CHANCERY_TEST_CHILD_HOME";

#[test]
fn a_start_from_nothing_makes_a_guarded_cluster() {
    let place = Place::new();
    let before = place.cluster.status().expect("has a status");
    assert_eq!((before.running, before.initialised), (None, false));
    assert!(!place.home().path().exists(), "looking changes nothing");

    let started = place.start();
    assert!(started.created && !started.already_running, "{started:?}");
    assert_eq!(started.recovered, Vec::<String>::new());

    let status = place.cluster.status().expect("has a status");
    let running = status.running.expect("is running");
    assert_eq!((running.pid, running.ready, status.initialised), (started.pid, true, true));
    assert!(running.started_at.is_some());

    let settings = [
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("password_encryption", "scram-sha-256"),
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("log_statement", "none"),
        ("log_min_error_statement", "panic"),
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("timezone", "UTC"),
        ("max_connections", "20"),
    ];
    for (name, expect) in settings {
        let found = place.query(&format!("select current_setting('{name}')"));
        assert_eq!(found, expect, "{name}");
    }
    assert_eq!(place.query("select datcollate from pg_database where datname = 'postgres'"), "C");
    assert!(tcp_sockets_of(started.pid).is_empty(), "nothing listens on TCP");
    let weak = "select count(*) from pg_hba_file_rules where auth_method <> 'scram-sha-256'";
    assert_eq!(place.query(weak), "0", "every line asks for a SCRAM password");

    // The server's files are its user's; the folder above, and the passwords, stay ours.
    let owner = |path: &Path| path.metadata().expect("is there").uid();
    let ours = rustix::process::geteuid().as_raw();
    assert_eq!(ours == 0, owner(&place.home().data()) != ours, "root never serves");
    assert_eq!(owner(&place.home().pg()), ours);
    assert_eq!(owner(&place.home().secrets()), ours);
    assert_eq!(mode_of(&place.home().data()), 0o700);
    assert_eq!(mode_of(&place.home().log()), 0o600);
    let names = fs::read_dir(place.home().pg()).expect("listable").flatten();
    let names: Vec<String> = names.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("data.new-")), "{names:?}");
}

fn tcp_sockets_of(pid: i32) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).expect("our server").flatten();
    let inodes: Vec<String> = links
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    assert!(!inodes.is_empty(), "at least the unix socket is open");
    ["tcp", "tcp6"]
        .iter()
        .flat_map(|table| {
            let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .filter(|line| {
            line.split_whitespace()
                .nth(9)
                .is_some_and(|inode| inodes.iter().any(|own| own == inode))
        })
        .collect()
}

#[test]
fn without_the_password_nobody_gets_in() {
    let place = Place::new();
    place.start();
    let to = place.as_superuser();
    let refused =
        psql_without_password(&place.cluster, &to, "select 1").output().expect("psql runs");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no password supplied"));

    let wrong =
        psql_without_password(&place.cluster, &to, "select 1").env("PGPASSWORD", "wrong").output();
    let wrong = wrong.expect("psql runs");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("password authentication failed"));
    assert_eq!(place.query("select current_user"), "chancery_admin");
}

#[test]
fn a_role_that_got_only_a_verifier_logs_in_with_its_password_file() {
    let place = Place::new();
    place.start();
    let role = "chancery_app";
    let verifier = secrets::scram_verifier(&secrets::ensure(place.home(), role).expect("is made"));
    assert!(verifier.starts_with("SCRAM-SHA-256$1:"), "nobody guesses what we made");
    let chosen = secrets::scram_verifier(&secrets::Secret::new("a password that a person chose"));
    assert!(chosen.starts_with("SCRAM-SHA-256$4096:"), "{chosen}");
    place.query(&format!("create role {role} login password '{verifier}'"));
    let to = place.cluster.connection(role).expect("has a connection").with_database("template1");
    let said = psql(&place.cluster, &to, "select current_user, current_database()").output();
    assert_eq!(text_of(&said.expect("psql runs")), "chancery_app|template1");
}

#[test]
fn concurrent_starts_make_one_server() {
    let place = Place::new();
    let started: Vec<Started> = thread::scope(|scope| {
        let starts: Vec<_> =
            (0..4).map(|_| scope.spawn(|| open(place.home()).start().expect("starts"))).collect();
        starts.into_iter().map(|start| start.join().expect("no panic")).collect()
    });
    assert_eq!(started.iter().filter(|one| one.created).count(), 1, "{started:?}");
    assert_eq!(started.iter().filter(|one| !one.already_running).count(), 1, "{started:?}");
    assert!(started.iter().all(|one| one.pid == place.pid()), "{started:?}");
}

#[test]
fn a_stop_and_a_start_keep_the_data_and_report_nothing() {
    let place = Place::new();
    assert!(!place.cluster.stop().expect("nothing to stop"));
    place.start();
    place.query("create table kept (n int); insert into kept values (1), (2)");
    assert!(place.cluster.stop().expect("stops"));
    assert!(!place.cluster.stop().expect("nothing to stop"));
    assert_eq!(place.cluster.status().expect("has a status").running, None);

    let again = place.start();
    assert_eq!(
        again,
        Started { pid: again.pid, already_running: false, created: false, recovered: vec![] }
    );
    assert_eq!(place.query("select count(*) from kept"), "2");
    let conf = fs::read_to_string(place.home().data().join("postgresql.conf")).expect("readable");
    assert_eq!(conf.matches("chancery.conf").count(), 1, "included once");
}

#[test]
fn the_server_outlives_its_starter_and_holds_none_of_its_pipes() {
    if let Some(path) = std::env::var_os(CHILD_HOME) {
        open(&home_at(Path::new(&path))).start().expect("starts");
        return;
    }
    let place = Place::new();
    // A strict umask must not close the folders to the server's user. `output` returns only when
    // nobody holds the pipes any more.
    let child = Command::new("/bin/sh")
        .args(["-c", "umask 077; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().expect("a test binary"))
        .args([
            "--exact",
            "lifecycle::the_server_outlives_its_starter_and_holds_none_of_its_pipes",
            "--nocapture",
        ])
        .env(CHILD_HOME, place.home().path())
        .output()
        .expect("runs itself");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    assert!(place.start().already_running);
    assert_eq!(place.query("select 1"), "1");
}

#[test]
fn a_starter_that_can_not_have_the_lock_says_so() {
    let place = Place::new();
    fs::create_dir_all(place.home().pg()).expect("a folder");
    let path = place.home().pg().join("cluster.lock");
    let held = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let held = held.expect("a lock file");
    flock(&held, FlockOperation::LockExclusive).expect("free");
    let options = Options { lock_wait: Duration::from_millis(50), ..small() };
    let cluster = Cluster::open(place.home().clone(), real_binaries(), options).expect("opens");
    assert!(matches!(cluster.start(), Err(Error::Locked { .. })));
}

#[test]
fn a_server_that_can_not_start_is_reported_with_its_log() {
    let place = Place::new();
    let mut options = small();
    options.extra_settings.push(("shared_buffers".to_owned(), "nonsense".to_owned()));
    let cluster = Cluster::open(place.home().clone(), real_binaries(), options).expect("opens");
    let error = cluster.start().expect_err("that is no size");
    assert!(matches!(error, Error::Start { .. }), "{error}");
    assert!(
        error.to_string().contains("invalid value for parameter \"shared_buffers\""),
        "{error}"
    );

    // The same folder starts once the setting is right.
    assert!(!place.start().created);
}

#[test]
fn a_long_log_is_rotated_at_start() {
    let place = Place::new();
    fs::create_dir_all(place.home().pg()).expect("a folder");
    let long = OpenOptions::new().create(true).truncate(true).write(true).open(place.home().log());
    long.expect("a log").set_len(11 * 1024 * 1024).expect("a sparse file");
    place.start();
    assert_eq!(
        place.home().pg().join("log.1").metadata().expect("rotated").len(),
        11 * 1024 * 1024
    );
    assert!(place.home().log().metadata().expect("begun anew").len() < 100_000);
}

/// The log of a server that runs for long is limited as well: it is rotated under its writer, and the oldest of five goes.
#[test]
fn a_long_log_is_rotated_while_the_server_writes_to_it() {
    let place = Place::new();
    place.start();
    assert!(!place.cluster.limit_log().expect("looked at"), "a short log stays");
    let (log, pg) = (place.home().log(), place.home().pg());
    for n in 1..=6_u64 {
        let file = OpenOptions::new().write(true).open(&log).expect("the log");
        file.set_len((10 << 20) + n).expect("a long log");
        assert!(place.cluster.limit_log().expect("rotated"));
        // The server still writes to it, from its new beginning on.
        place.query("do $$ begin raise warning 'written after rotation'; end $$; select 1");
        let text = fs::read_to_string(&log).expect("the log");
        assert!(text.contains("written after rotation") && text.len() < 10_000, "{}", text.len());
    }
    let sizes: Vec<u64> = (1..=4)
        .map(|n| pg.join(format!("log.{n}")).metadata().expect("kept").len() - (10 << 20))
        .collect();
    assert_eq!(sizes, [6, 5, 4, 3], "the newest first");
    assert!(!pg.join("log.5").exists());
}
