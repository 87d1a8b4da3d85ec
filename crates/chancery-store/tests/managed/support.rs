//! A cluster of its own for each test, and a few questions to ask it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use chancery_store::managed::{
    Binaries, BinarySearch, Cluster, Connection, Env, Home, Options, Started, find_binaries,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) struct Place {
    pub(crate) cluster: Cluster,
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::below("home")
    }

    pub(crate) fn below(name: &str) -> Self {
        let folder = open_folder();
        let home = home_at(&folder.path().join(name));
        Self { cluster: open(&home), folder }
    }

    pub(crate) fn home(&self) -> &Home {
        self.cluster.home()
    }

    pub(crate) fn start(&self) -> Started {
        self.cluster.start().expect("the cluster starts")
    }

    pub(crate) fn pid(&self) -> i32 {
        self.cluster.status().expect("has a status").running.expect("is running").pid
    }

    pub(crate) fn as_superuser(&self) -> Connection {
        self.cluster.connection(self.cluster.superuser()).expect("has a connection")
    }

    pub(crate) fn query(&self, sql: &str) -> String {
        let output = psql(&self.cluster, &self.as_superuser(), sql).output();
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
pub(crate) fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("our own folder");
    folder
}

pub(crate) fn home_at(path: &Path) -> Home {
    Home::resolve(Some(path.to_owned()), &Env::default()).expect("an ordinary path")
}

pub(crate) fn real_binaries() -> Binaries {
    let home = home_at(Path::new("/nonexistent"));
    let path = std::env::var_os("PATH");
    find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home)).expect("PostgreSQL 15+")
}

pub(crate) fn small() -> Options {
    let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Options {
        extra_settings: vec![setting("shared_buffers", "16MB"), setting("max_connections", "20")],
        leftover_grace: Duration::from_millis(200),
        ..Options::default()
    }
}

pub(crate) fn open(home: &Home) -> Cluster {
    Cluster::open(home.clone(), real_binaries(), small()).expect("opens")
}

pub(crate) fn psql(cluster: &Cluster, to: &Connection, sql: &str) -> Command {
    let mut psql = psql_without_password(cluster, to, sql);
    psql.env("PGPASSWORD", to.password.expose());
    psql
}

pub(crate) fn psql_without_password(cluster: &Cluster, to: &Connection, sql: &str) -> Command {
    let mut psql = cluster.binaries().command("psql");
    psql.args(["-X", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1"])
        .arg("-h")
        .arg(&to.socket_dir)
        .args(["-p", &to.port.to_string(), "-U", &to.user, "-d", &to.database, "-c", sql]);
    psql
}

pub(crate) fn text_of(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

pub(crate) fn kill_9(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a process number"), Signal::KILL).expect("ours");
}

pub(crate) fn mode_of(path: &Path) -> u32 {
    path.symlink_metadata().expect("is there").mode() & 0o777
}

/// Writes programs that do nothing but print; through a shell, because a file that this process has
/// open for writing while another thread forks can't be executed ("text file busy").
pub(crate) fn fake_bin_dir(at: &Path, version: &str, programs: &[&str]) -> PathBuf {
    fs::create_dir_all(at).expect("a folder");
    for program in programs {
        let script = format!("#!/bin/sh\necho \"{program} (PostgreSQL) {version}\"\n");
        write_program(&at.join(program), &script);
    }
    at.to_owned()
}

pub(crate) fn write_program(path: &Path, script: &str) {
    let written = Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .arg(script)
        .status();
    assert!(written.expect("a shell").success());
}

pub(crate) const SERVER_PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_ctl"];
