//! The managed cluster, with real servers: each test makes its own.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use chancery_store::managed::{
    Binaries, BinarySearch, Cluster, Connection, Env, Error, Home, Options, Started, find_binaries,
    secrets,
};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Names the data directory to the child process of one test.
const CHILD_HOME: &str = "CHANCERY_TEST_CHILD_HOME";

struct Place {
    cluster: Cluster,
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self::below("home")
    }

    fn below(name: &str) -> Self {
        let folder = open_folder();
        let home = home_at(&folder.path().join(name));
        Self { cluster: open(&home), folder }
    }

    fn home(&self) -> &Home {
        self.cluster.home()
    }

    fn start(&self) -> Started {
        self.cluster.start().expect("the cluster starts")
    }

    fn pid(&self) -> i32 {
        self.cluster.status().expect("has a status").running.expect("is running").pid
    }

    fn as_superuser(&self) -> Connection {
        self.cluster.connection(self.cluster.superuser()).expect("has a connection")
    }

    fn query(&self, sql: &str) -> String {
        let output = psql(&self.cluster, &self.as_superuser(), Some(()), sql).output();
        text_of(&output.expect("psql runs"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that broke off half-way must not leave a server behind.
        let _ = self.cluster.stop();
        let socket_dir = self.cluster.status().map(|status| status.socket_dir);
        if let Ok(dir) = socket_dir.as_deref()
            && !dir.starts_with(self.home().path())
        {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

/// A folder the server's user can enter; temporary folders are closed to everybody else.
fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("our own folder");
    folder
}

fn home_at(path: &Path) -> Home {
    Home::resolve(Some(path.to_owned()), &Env::default()).expect("an ordinary path")
}

fn real_binaries() -> Binaries {
    let home = home_at(Path::new("/nonexistent"));
    let path = std::env::var_os("PATH");
    find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home)).expect("PostgreSQL 15+")
}

fn small() -> Options {
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Options {
        extra_settings: vec![setting("shared_buffers", "16MB"), setting("max_connections", "20")],
        leftover_grace: Duration::from_millis(200),
        ..Options::default()
    }
}

fn open(home: &Home) -> Cluster {
    Cluster::open(home.clone(), real_binaries(), small()).expect("opens")
}

fn psql(cluster: &Cluster, to: &Connection, password: Option<()>, sql: &str) -> Command {
    let mut psql = cluster.binaries().command("psql");
    psql.args(["-X", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1"])
        .arg("-h")
        .arg(&to.socket_dir)
        .args(["-p", &to.port.to_string(), "-U", &to.user, "-d", &to.database, "-c", sql]);
    if password.is_some() {
        psql.env("PGPASSWORD", to.password.expose());
    }
    psql
}

fn text_of(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn kill_9(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a process number"), Signal::KILL).expect("ours");
}

fn mode_of(path: &Path) -> u32 {
    path.symlink_metadata().expect("is there").mode() & 0o777
}

/// Writes programs that do nothing but print; through a shell, because a file that this process has
/// open for writing while another thread forks can't be executed ("text file busy").
fn fake_bin_dir(at: &Path, version: &str, programs: &[&str]) -> PathBuf {
    fs::create_dir_all(at).expect("a folder");
    for program in programs {
        let script = format!("#!/bin/sh\necho \"{program} (PostgreSQL) {version}\"\n");
        write_program(&at.join(program), &script);
    }
    at.to_owned()
}

fn write_program(path: &Path, script: &str) {
    let written = Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .arg(script)
        .status();
    assert!(written.expect("a shell").success());
}

const SERVER_PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_ctl"];

// ---- start, stop, status ---------------------------------------------------------------------

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
    let refused = psql(&place.cluster, &to, None, "select 1").output().expect("psql runs");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no password supplied"));

    let wrong = psql(&place.cluster, &to, None, "select 1").env("PGPASSWORD", "wrong").output();
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
    assert!(verifier.starts_with("SCRAM-SHA-256$"));
    place.query(&format!("create role {role} login password '{verifier}'"));
    let to = place.cluster.connection(role).expect("has a connection").with_database("template1");
    let said =
        psql(&place.cluster, &to, Some(()), "select current_user, current_database()").output();
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
    // `output` returns only when nobody holds the pipes any more.
    let child = Command::new(std::env::current_exe().expect("a test binary"))
        .args([
            "--exact",
            "the_server_outlives_its_starter_and_holds_none_of_its_pipes",
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

// ---- after a crash ---------------------------------------------------------------------------

#[test]
fn after_a_killed_server_the_next_start_recovers_and_says_so() {
    let place = Place::new();
    let first = place.start();
    place.query("create table kept (n int); insert into kept values (1)");
    // Stays attached to the shared memory: a backend that never looks up from its work.
    let to = place.as_superuser();
    let busy = psql(&place.cluster, &to, Some(()), "do 'begin loop end loop; end'")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let busy = Reaped(busy.expect("psql runs"));
    eventually("a busy backend", || {
        place.query("select count(*) from pg_stat_activity where query like 'do ''begin loop%'")
            == "1"
    });

    // At once, while the system is still taking the process down: it must not pass for a running one.
    kill_9(first.pid);
    let second = place.start();
    assert!(!second.already_running && !second.created && second.pid != first.pid, "{second:?}");
    let told = second.recovered.join("; ");
    assert!(told.contains("ended leftover processes"), "{told}");
    assert!(told.contains("removed a stale postmaster.pid"), "{told}");
    assert!(told.contains("replayed its write-ahead log"), "{told}");
    assert_eq!(place.query("select count(*) from kept"), "1");
    drop(busy);
}

/// A child that is waited for, so that no zombie stays.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_pid_file_that_names_a_dead_process_or_a_stranger_is_removed() {
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let mut short = Command::new("/bin/true").spawn().expect("runs");
    let dead = short.id();
    short.wait().expect("ends");
    let stranger = std::process::id();
    let pid_file = place.home().data().join("postmaster.pid");
    for contents in [
        format!("{dead}\n{}\n1700000000\n5432\n", place.home().data().display()),
        format!("{stranger}\n{}\n1700000000\n5432\n", place.home().data().display()),
        String::new(),
    ] {
        fs::write(&pid_file, &contents).expect("writable");
        assert_eq!(place.cluster.status().expect("has a status").running, None);
        assert!(!place.cluster.stop().expect("nothing to stop"), "a stranger is never stopped");
        let started = place.start();
        let told = started.recovered.join("; ");
        assert!(told.contains("removed a stale postmaster.pid"), "{contents:?}: {told}");
        assert_eq!(place.query("select 1"), "1");
        place.cluster.stop().expect("stops");
    }
}

#[test]
fn a_half_made_cluster_is_cleared_away() {
    let place = Place::new();
    let half_made = place.home().pg().join("data.new-4711");
    fs::create_dir_all(half_made.join("global")).expect("a folder");
    fs::write(half_made.join("PG_VERSION"), "15\n").expect("writable");
    let password = place.home().pg().join("data.new-4711.password");
    fs::write(&password, "secret\n").expect("writable");

    let started = place.start();
    assert!(started.created);
    assert_eq!(started.recovered, ["removed data.new-4711, a cluster that was never finished"]);
    assert!(!half_made.exists() && !password.exists());
}

#[test]
fn a_failed_initdb_leaves_nothing_behind() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    let bin_dir = fake_bin_dir(&folder.path().join("bin"), "15.1", &["postgres", "pg_ctl"]);
    let script = "#!/bin/sh\nfor last in \"$@\"; do :; done\necho half > \"$2/PG_VERSION\"\n\
                  echo 'no space left on device' >&2\nexit 1\n";
    write_program(&bin_dir.join("initdb"), script);
    let search = BinarySearch { explicit: Some(bin_dir), ..BinarySearch::default() };
    let binaries = find_binaries(&search).expect("looks like a server");
    let cluster = Cluster::open(home.clone(), binaries, small()).expect("opens");
    let error = cluster.start().expect_err("initdb fails");
    assert!(error.to_string().contains("no space left on device"), "{error}");
    let left = fs::read_dir(home.pg()).expect("listable").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["cluster.lock"]);
}

#[test]
fn a_folder_that_is_no_cluster_is_refused_and_left_alone() {
    let place = Place::new();
    let data = place.home().data();
    fs::create_dir_all(&data).expect("a folder");
    assert!(place.start().created, "an empty folder is as good as none");
    place.cluster.stop().expect("stops");

    for missing in ["PG_VERSION", "global/pg_control"] {
        let aside = place.home().path().join("aside");
        fs::rename(data.join(missing), &aside).expect("ours");
        for refused in [
            place.cluster.start().map(drop),
            Cluster::open(place.home().clone(), real_binaries(), small()).map(drop),
        ] {
            let error = refused.expect_err("no cluster");
            assert!(
                matches!(&error, Error::NotACluster { missing: found, .. } if *found == missing)
            );
            assert!(error.to_string().contains("nothing was changed"), "{error}");
        }
        fs::rename(&aside, data.join(missing)).expect("ours");
    }
    assert!(!place.start().created, "all files are still there");
}

#[test]
fn a_socket_that_somebody_unseen_answers_on_is_not_taken_over() {
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let socket_dir = place.cluster.status().expect("has a status").socket_dir;
    let unseen = UnixListener::bind(socket_dir.join(".s.PGSQL.5432")).expect("free");
    assert!(matches!(place.cluster.start(), Err(Error::RunsElsewhere { .. })));

    drop(unseen);
    let told = place.start().recovered;
    assert_eq!(told, ["removed the socket of a server that is gone"]);
}

#[test]
fn a_cluster_restored_by_root_is_given_to_the_servers_user() {
    if !Env::process_is_root() {
        return;
    }
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let chown = Command::new("chown").args(["-R", "0:0"]).arg(place.home().data()).status();
    assert!(chown.expect("runs").success());
    let told = open(place.home()).start().expect("starts").recovered.join("; ");
    assert!(told.contains("gave the data directory to user"), "{told}");
}

// ---- places ----------------------------------------------------------------------------------

#[test]
fn a_path_too_long_for_a_socket_falls_back_to_a_short_one() {
    let place = Place::below(&"long".repeat(25));
    let socket_dir = place.cluster.status().expect("has a status").socket_dir;
    assert!(socket_dir.to_string_lossy().len() < 40, "{socket_dir:?}");
    place.start();
    assert_eq!(place.query("select 1"), "1");
    let recorded = fs::read_to_string(place.home().pg().join("socket_dir")).expect("recorded");
    assert_eq!(Path::new(recorded.trim_end()), socket_dir);

    // A reboot empties such places.
    place.cluster.stop().expect("stops");
    fs::remove_dir_all(&socket_dir).expect("ours");
    place.start();
    assert_eq!(place.query("select 1"), "1");
}

#[test]
fn everybody_looks_for_the_socket_where_it_was_recorded() {
    let place = Place::below(&"long".repeat(25));
    let computed = place.cluster.status().expect("has a status").socket_dir;
    let name = computed.file_name().expect("has a name");
    let record = place.home().pg().join("socket_dir");
    fs::create_dir_all(place.home().pg()).expect("a folder");
    let elsewhere = place.folder.path().join(name);
    fs::write(&record, format!("{}\n", elsewhere.display())).expect("writable");
    assert_eq!(place.cluster.status().expect("has a status").socket_dir, elsewhere);

    // The record of a home that has moved, or nonsense, is not this home's.
    fs::write(&record, "/run/chancery-00000000\n").expect("writable");
    assert_eq!(place.cluster.status().expect("has a status").socket_dir, computed);
}

#[test]
fn a_short_socket_folder_that_others_can_write_to_is_refused() {
    let place = Place::below(&"long".repeat(25));
    let socket_dir = place.cluster.status().expect("has a status").socket_dir;
    fs::create_dir(&socket_dir).expect("free");
    fs::set_permissions(&socket_dir, Permissions::from_mode(0o777)).expect("ours");
    let error = place.cluster.start().expect_err("anybody could sit in between");
    assert!(matches!(error, Error::SocketDir { .. }), "{error}");
}

#[test]
fn a_folder_that_the_servers_user_can_not_enter_is_named() {
    if !Env::process_is_root() {
        return;
    }
    let place = Place::below("closed/home");
    let closed = place.home().path().parent().expect("has one").to_owned();
    fs::create_dir(&closed).expect("a folder");
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("ours");
    match place.cluster.start() {
        Err(Error::NotTraversable { folder, .. }) => assert_eq!(folder, closed),
        other => panic!("{other:?}"),
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o711)).expect("ours");
    place.start();
}

// ---- binaries --------------------------------------------------------------------------------

#[test]
fn without_a_server_the_message_names_the_package() {
    let folder = open_folder();
    let home = home_at(folder.path());
    let nowhere = BinarySearch {
        path: vec![folder.path().join("bin")],
        cache: Some(home.binary_cache()),
        ..BinarySearch::default()
    };
    let error = find_binaries(&nowhere).expect_err("nothing is there");
    let text = error.to_string();
    assert!(matches!(error, Error::NoServer { .. }));
    assert!(text.contains("apt-get install postgresql-15"), "{text}");
    assert!(text.contains(&folder.path().join("bin").display().to_string()), "{text}");

    // Some of the programs are not enough.
    fake_bin_dir(&folder.path().join("bin"), "16.2", &["postgres", "pg_ctl"]);
    assert!(matches!(find_binaries(&nowhere), Err(Error::NoServer { .. })));
}

#[test]
fn a_server_that_is_too_old_is_named_with_what_is_needed() {
    let folder = open_folder();
    let bin = fake_bin_dir(folder.path(), "14.9", &SERVER_PROGRAMS);
    let search = BinarySearch { explicit: Some(bin.clone()), ..BinarySearch::default() };
    match find_binaries(&search) {
        Err(Error::TooOld { found, at, needs }) => {
            assert_eq!((found.as_str(), at, needs), ("14.9", bin, 15));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_server_wins_wherever_it_is_and_a_named_folder_beats_all() {
    let folder = open_folder();
    let at = |name: &str, version: &str| {
        fake_bin_dir(&folder.path().join(name), version, &SERVER_PROGRAMS)
    };
    let (old, middle) = (at("old", "14.1"), at("middle", "15.4"));
    let newest = at("cache/usr/lib/postgresql/17/bin", "17.2");
    let pg_config = format!("#!/bin/sh\necho '{}'\n", middle.display());
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    write_program(&tools.join("pg_config"), &pg_config);

    let search = BinarySearch {
        path: vec![old.clone(), tools],
        cache: Some(folder.path().join("cache")),
        ..BinarySearch::default()
    };
    let found = find_binaries(&search).expect("two will do");
    assert_eq!((found.version.major, &found.bin_dir), (17, &newest));
    assert_eq!(found.for_major(15).map(|other| &other.bin_dir), Some(&middle));
    assert!(found.for_major(14).is_none());
    assert_eq!((found.psql, found.pg_dump), (None, None));

    let named = BinarySearch { explicit: Some(middle.clone()), ..search };
    assert_eq!(find_binaries(&named).expect("will do").bin_dir, middle);
}

#[test]
fn an_existing_cluster_keeps_its_major_version() {
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let folder = open_folder();
    let real = real_binaries();
    let newer = fake_bin_dir(&folder.path().join("newer"), "99.1", &SERVER_PROGRAMS);
    let both =
        BinarySearch { path: vec![newer.clone(), real.bin_dir.clone()], ..BinarySearch::default() };
    let newest = find_binaries(&both).expect("two will do");
    assert_eq!(newest.version.major, 99);
    let cluster = Cluster::open(place.home().clone(), newest, small()).expect("opens");
    assert_eq!(cluster.binaries().bin_dir, real.bin_dir);

    let only_newer = BinarySearch { explicit: Some(newer), ..BinarySearch::default() };
    let only_newer = find_binaries(&only_newer).expect("will do");
    let error = Cluster::open(place.home().clone(), only_newer, small()).expect_err("does not fit");
    let package = format!("apt-get install postgresql-{}", real.version.major);
    assert!(error.to_string().contains(&package), "{error}");
}

// ---- secrets ---------------------------------------------------------------------------------

#[test]
fn a_password_file_is_made_once_and_closed_to_others() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    let made: Vec<_> = thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| secrets::ensure(&home, "cutter_exec").expect("is made")))
            .collect();
        makers.into_iter().map(|maker| maker.join().expect("no panic")).collect()
    });
    assert!(made.iter().all(|secret| *secret == made[0]), "whoever comes first decides");
    assert_eq!(made[0].expose().len(), 43, "32 random bytes");
    assert_eq!(secrets::read(&home, "cutter_exec").expect("is there"), made[0]);
    assert_ne!(secrets::ensure(&home, "cutter_verify").expect("is made"), made[0]);

    let path = secrets::path(&home, "cutter_exec").expect("a fine name");
    assert_eq!((mode_of(&path), mode_of(&home.secrets())), (0o600, 0o700));
    let files = fs::read_dir(home.secrets()).expect("listable").count();
    assert_eq!(files, 2, "no drafts are left");
}

#[test]
fn a_password_is_not_shown_by_accident() {
    let place = Place::new();
    let secret = secrets::ensure(place.home(), "chancery_admin").expect("is made");
    let connection = place.as_superuser();
    for shown in [format!("{secret:?}"), format!("{connection:#?}"), format!("{:?}", place.cluster)]
    {
        assert!(!shown.contains(secret.expose()), "{shown}");
    }
}

#[test]
fn a_password_file_that_others_can_read_is_refused() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    secrets::ensure(&home, "auditor_ro").expect("is made");
    let path = secrets::path(&home, "auditor_ro").expect("a fine name");
    for (exposed, open_mode, closed_mode) in
        [(path.clone(), 0o640, 0o600), (path.clone(), 0o604, 0o600), (home.secrets(), 0o755, 0o700)]
    {
        fs::set_permissions(&exposed, Permissions::from_mode(open_mode)).expect("ours");
        let error = secrets::ensure(&home, "auditor_ro").expect_err("others can read it");
        assert!(matches!(error, Error::SecretExposed { .. }), "{error}");
        assert!(error.to_string().contains(&format!("chmod {closed_mode:o}")), "{error}");
        fs::set_permissions(&exposed, Permissions::from_mode(closed_mode)).expect("ours");
    }
    secrets::read(&home, "auditor_ro").expect("closed again");
}

#[test]
fn bad_names_and_bad_files_are_refused() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    for name in ["", "../evil", "Upper", "1st", "a b", "a;b", "ä"] {
        assert!(matches!(secrets::ensure(&home, name), Err(Error::RoleName { .. })), "{name:?}");
    }
    assert!(matches!(secrets::read(&home, "cutter_ro"), Err(Error::SecretMissing { .. })));
    secrets::ensure(&home, "cutter_ro").expect("is made");
    let path = secrets::path(&home, "cutter_ro").expect("a fine name");
    for contents in ["", "\n", "two\nlines\n"] {
        fs::write(&path, contents).expect("ours");
        assert!(matches!(secrets::read(&home, "cutter_ro"), Err(Error::SecretMalformed { .. })));
    }
}
