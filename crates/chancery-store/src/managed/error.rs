//! What can go wrong around the managed cluster, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of the managed cluster; the message says what happened and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(
        "no data directory: neither CHANCERY_HOME nor XDG_DATA_HOME nor HOME is set; \
         set CHANCERY_HOME to a folder of your choice"
    )]
    NoHome,

    #[error(
        "the path {path} has a character that the server's start script would interpret \
         (one of \" ' ` $ \\ or a control character); choose another folder"
    )]
    UnsafePath { path: PathBuf },

    #[error(
        "no PostgreSQL server found (initdb, postgres and pg_ctl in one folder); install \
         PostgreSQL {needs} or newer:\n  \
         Debian, Ubuntu: apt-get install postgresql-{needs}   (or postgresql, for the release's own)\n  \
         Fedora, RHEL:   dnf install postgresql-server\n  \
         macOS:          brew install postgresql@17\n\
         or set DATABASE_URL to a PostgreSQL {needs}+ that runs elsewhere\n\
         looked in: {}", list(.looked_in)
    )]
    NoServer { looked_in: Vec<PathBuf>, needs: u32 },

    #[error(
        "PostgreSQL {found} in {at} is too old: Chancery needs {needs} or newer \
         (Debian, Ubuntu: apt-get install postgresql-{needs})"
    )]
    TooOld { found: String, at: PathBuf, needs: u32 },

    #[error(
        "the cluster in {data_dir} was made by PostgreSQL {data_major}, but the servers found are \
         {}; install PostgreSQL {data_major} (Debian, Ubuntu: apt-get install \
         postgresql-{data_major}), or move the data with pg_upgrade", list(.found)
    )]
    WrongMajor { data_dir: PathBuf, data_major: u32, found: Vec<String> },

    #[error(
        "PostgreSQL refuses to run as root, and neither postgres nor chancery nor nobody is a user \
         in /etc/passwd; create one: useradd --system chancery"
    )]
    NoUnprivilegedUser,

    #[error(
        "user {user}, who runs the server, can't enter {folder}, which is on the way to {target}; \
         set CHANCERY_HOME to a folder that user can reach (such as /var/lib/chancery), or: \
         chmod o+x {folder}"
    )]
    NotTraversable { folder: PathBuf, user: String, target: PathBuf },

    #[error(
        "{path} is neither empty nor a PostgreSQL cluster ({missing} is missing); nothing was \
         changed. Restore it from a backup, or move it away to begin with an empty cluster"
    )]
    NotACluster { path: PathBuf, missing: &'static str },

    #[error("the socket folder {path} can't be used: {why}; remove it and start again")]
    SocketDir { path: PathBuf, why: String },

    #[error(
        "somebody else has been starting or stopping this cluster for {waited_s} s (lock {path}); \
         look at the server's log beside it, then try again"
    )]
    Locked { path: PathBuf, waited_s: u64 },

    #[error(
        "a server answers on {socket} although no process here holds {data_dir}; it probably runs \
         in another container that shares this folder. Stop it there first"
    )]
    RunsElsewhere { socket: PathBuf, data_dir: PathBuf },

    #[error(
        "process {pid} is a single-user postgres at work in {data_dir}; let it end, then try again"
    )]
    SingleUser { pid: i32, data_dir: PathBuf },

    #[error(
        "processes of an earlier server still hold {data_dir} and can't be ended: {}; end them, \
         then try again", list(.pids)
    )]
    LeftoverProcesses { data_dir: PathBuf, pids: Vec<i32> },

    #[error("initdb could not make the cluster:\n{output}")]
    Initdb { output: String },

    #[error("PostgreSQL did not start: {output}\nlast lines of {log}:\n{log_tail}")]
    Start { output: String, log: PathBuf, log_tail: String },

    #[error(
        "PostgreSQL is running but not ready after {waited_s} s; it goes on trying, so start \
         again to go on waiting\nlast lines of {log}:\n{log_tail}"
    )]
    NotReady { waited_s: u64, log: PathBuf, log_tail: String },

    #[error("PostgreSQL (process {pid}) did not stop: {output}")]
    Stop { pid: i32, output: String },

    #[error(
        "{name} is no name for a role (lower-case letters, digits and _, not starting with a digit)"
    )]
    RoleName { name: String },

    #[error(
        "{path} is open to other users (mode {mode:03o}); its password may be known. \
         Close it with chmod {expected:03o} {path}, and change the password if others use this \
         machine"
    )]
    SecretExposed { path: PathBuf, mode: u32, expected: u32 },

    #[error(
        "there is no password file for {role} at {path}; start the cluster and apply the \
         migrations, which make it, or restore it from a backup"
    )]
    SecretMissing { role: String, path: PathBuf },

    #[error(
        "{path} does not hold a password (one line of visible ASCII); restore it from a backup"
    )]
    SecretMalformed { path: PathBuf },

    #[error("the server setting {name} can't be set: {why}")]
    Setting { name: String, why: &'static str },

    #[error("could not {doing} {path}: {cause}")]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
}

/// Says what was being done, and where, when a system call fails.
pub(super) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|cause| Error::Io { doing, path: path.to_owned(), cause })
    }
}

impl<T> Doing<T> for rustix::io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(io::Error::from).doing(doing, path)
    }
}

/// Paths have no `Display`; names and numbers do. Both stand in messages.
trait Shown {
    fn shown(&self) -> String;
}

impl Shown for PathBuf {
    fn shown(&self) -> String {
        self.display().to_string()
    }
}

impl Shown for String {
    fn shown(&self) -> String {
        self.clone()
    }
}

impl Shown for i32 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

fn list<T: Shown>(items: &[T]) -> String {
    if items.is_empty() {
        return "nothing".to_owned();
    }
    items.iter().map(Shown::shown).collect::<Vec<_>>().join(", ")
}
