//! The cluster as a whole: start, stop, status, and how to connect.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use super::binaries::Binaries;
use super::error::{Doing, Error};
use super::home::Home;
use super::lock::Lock;
use super::os_user::{OsUser, folder_mode};
use super::postmaster::{self, Data, Holder, Phase, PidFile};
use super::secrets::{self, Secret};
use super::{files, initialise, settings, socket, wait};

const MAX_LOG_BYTES: u64 = 10 * 1024 * 1024;
/// So many older logs are kept.
const OLD_LOGS: usize = 4;
/// How long a server that says it is ready may take to answer.
const FIRST_ANSWER: Duration = Duration::from_secs(5);
const LOG_LINES_IN_ERRORS: usize = 20;

/// What the server logs, in the C locale, while it repairs itself after a crash.
const SIGNS_OF_RECOVERY: [&str; 2] =
    ["database system was interrupted", "database system was not properly shut down"];

/// What a caller may choose about its cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// Server settings on top of Chancery's own.
    pub extra_settings: Vec<(String, String)>,
    /// The superuser that initdb makes; it applies migrations and is no service's login.
    pub superuser: String,
    /// How long to wait while another process starts or stops the cluster.
    pub lock_wait: Duration,
    /// How long a start or a stop may take.
    pub deadline: Duration,
    /// How long a start may take while the server replays its log after a crash.
    pub recovery_deadline: Duration,
    /// How long processes of a killed server may take to leave by themselves.
    pub leftover_grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            extra_settings: Vec::new(),
            superuser: "chancery_admin".to_owned(),
            lock_wait: Duration::from_secs(90),
            deadline: Duration::from_secs(60),
            recovery_deadline: Duration::from_secs(15 * 60),
            leftover_grace: Duration::from_secs(3),
        }
    }
}

/// What a start found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The process number of the server.
    pub pid: i32,
    /// The server had been running before.
    pub already_running: bool,
    /// The cluster was made by this start.
    pub created: bool,
    /// What had to be repaired, in words for the user; empty after a clean stop.
    pub recovered: Vec<String>,
}

/// A server at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub pid: i32,
    /// It accepts connections (rather than starting up or shutting down).
    pub ready: bool,
    /// When it was started, in seconds since 1970.
    pub started_at: Option<u64>,
}

/// What there is to say about a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub running: Option<Running>,
    /// The cluster has been made.
    pub initialised: bool,
    /// The version of the server binaries.
    pub version: String,
    pub bin_dir: PathBuf,
    pub data_dir: PathBuf,
    pub socket_dir: PathBuf,
    pub port: u16,
    pub log: PathBuf,
    /// The user of the operating system that the server runs as.
    pub os_user: String,
}

/// All that a client needs to connect as one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    pub socket_dir: PathBuf,
    pub port: u16,
    pub user: String,
    pub password: Secret,
    pub database: String,
}

impl Connection {
    /// The same role on another database.
    pub fn with_database(self, database: impl Into<String>) -> Self {
        Self { database: database.into(), ..self }
    }
}

/// The private cluster of one data directory.
#[derive(Clone, Debug)]
pub struct Cluster {
    home: Home,
    binaries: Binaries,
    options: Options,
    user: OsUser,
}

impl Cluster {
    /// Looks at the data directory and picks the binaries that fit it; changes nothing.
    pub fn open(home: Home, binaries: Binaries, options: Options) -> Result<Self, Error> {
        let data = home.data();
        let user = OsUser::for_cluster(&home)?;
        let cluster = Self { home, binaries, options, user };
        match postmaster::inspect_data(&data)? {
            Data::Absent => Ok(cluster),
            Data::Cluster { major } => cluster.with_binaries_of(major),
        }
    }

    fn with_binaries_of(self, major: u32) -> Result<Self, Error> {
        match self.binaries.for_major(major).cloned() {
            Some(binaries) => Ok(Self { binaries, ..self }),
            None => Err(Error::WrongMajor {
                data_dir: self.home.data(),
                data_major: major,
                found: std::iter::once(&self.binaries)
                    .chain(&self.binaries.others)
                    .map(|found| found.version.text.clone())
                    .collect(),
            }),
        }
    }

    /// Brings the server up, whatever state the last one left the folder in.
    ///
    /// Two starts at the same time make one server: the second waits for the lock, then finds it
    /// running. The server outlives this process and holds none of its pipes.
    pub fn start(&self) -> Result<Started, Error> {
        files::make_dir(&self.home.pg(), folder_mode())?;
        self.user.check_can_enter(&self.home.pg())?;
        self.user.check_can_enter(&self.binaries.bin_dir)?;
        let _lock = self.lock()?;

        let mut recovered = Vec::new();
        initialise::remove_unfinished(&self.home, &mut recovered)?;
        if let Some(pid) = self.join_running_server()? {
            return Ok(Started { pid, already_running: true, created: false, recovered });
        }
        let data = self.home.data();
        let created = match postmaster::inspect_data(&data)? {
            Data::Absent => {
                let superuser = &self.options.superuser;
                initialise::create_cluster(&self.home, &self.binaries, &self.user, superuser)?;
                true
            }
            // It may have been made by another version since this value was opened.
            Data::Cluster { major } if major != self.binaries.version.major => {
                return self.clone().with_binaries_of(major)?.start_under_lock(false, recovered);
            }
            Data::Cluster { .. } => false,
        };
        self.start_under_lock(created, recovered)
    }

    fn start_under_lock(
        &self,
        created: bool,
        mut recovered: Vec<String>,
    ) -> Result<Started, Error> {
        let data = self.home.data();
        self.take_over(&mut recovered)?;
        let socket_dir = socket::folder(&self.home)?;
        socket::prepare(&self.home, &socket_dir, &self.user)?;
        self.user.check_can_enter(&socket_dir)?;
        settings::write(&data, &socket_dir, &self.options.extra_settings, &self.user)?;
        let log_begins_at = self.prepare_log()?;
        let pid = self.launch(log_begins_at)?;
        if self.log_shows_recovery(log_begins_at) {
            recovered.push(
                "the server had not been shut down: it replayed its write-ahead log".to_owned(),
            );
        }
        Ok(Started { pid, already_running: false, created, recovered })
    }

    /// Starts the server again when it died; `None` when it runs, or was stopped by somebody.
    ///
    /// A server that dies leaves its pid file behind, one that is stopped removes it.
    pub fn revive(&self) -> Result<Option<Started>, Error> {
        match postmaster::holder(&self.home.data())? {
            Holder::Remains(_) => self.start().map(Some),
            Holder::Nobody | Holder::Server(_) => Ok(None),
        }
    }

    /// Rotates a log that has grown long, also while the server writes to it: `log` becomes `log.1`, and so on; the oldest goes.
    pub fn limit_log(&self) -> Result<bool, Error> {
        let log = self.home.log();
        if files::size(&log) <= MAX_LOG_BYTES {
            return Ok(false);
        }
        let old = |n: usize| log.with_extension(n.to_string());
        for n in (1..OLD_LOGS).rev() {
            if old(n).exists() {
                fs::rename(old(n), old(n + 1)).doing("rotate", &old(n))?;
            }
        }
        // The server goes on writing at the end of the same file, so it is copied and emptied, not renamed.
        fs::copy(&log, old(1)).doing("rotate", &log)?;
        let mut options = OpenOptions::new();
        options.write(true);
        let file = files::open_no_link(&mut options, &log).doing("open", &log)?;
        file.set_len(0).doing("empty", &log)?;
        Ok(true)
    }

    /// Shuts the server down, rolling back what is under way; `false` when none was running.
    pub fn stop(&self) -> Result<bool, Error> {
        if !self.home.pg().is_dir() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        let Holder::Server(server) = postmaster::holder(&self.home.data())? else {
            return Ok(false);
        };
        let output = self.pg_ctl(&["stop", "--mode=fast"])?;
        // The pid file goes shortly before its process does.
        if postmaster::wait_until_gone(&self.home.data(), postmaster::AFTER_SIGNAL)? {
            Ok(true)
        } else {
            Err(Error::Stop { pid: server.pid, output: said(&output) })
        }
    }

    /// What there is to say without touching anything.
    pub fn status(&self) -> Result<Status, Error> {
        let data_dir = self.home.data();
        let running = match postmaster::holder(&data_dir)? {
            Holder::Server(server) => Some(Running {
                pid: server.pid,
                ready: server.phase == Phase::Ready,
                started_at: server.started_at,
            }),
            Holder::Nobody | Holder::Remains(_) => None,
        };
        Ok(Status {
            running,
            initialised: postmaster::inspect_data(&data_dir)? != Data::Absent,
            version: self.binaries.version.text.clone(),
            bin_dir: self.binaries.bin_dir.clone(),
            data_dir,
            socket_dir: socket::folder(&self.home)?,
            port: socket::PORT,
            log: self.home.log(),
            os_user: self.user.name.clone(),
        })
    }

    /// How to connect as a role whose password file exists, to the `postgres` database.
    pub fn connection(&self, role: &str) -> Result<Connection, Error> {
        Ok(Connection {
            socket_dir: socket::folder(&self.home)?,
            port: socket::PORT,
            user: role.to_owned(),
            password: secrets::read(&self.home, role)?,
            database: "postgres".to_owned(),
        })
    }

    /// The data directory this cluster belongs to.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The binaries in use, which also hold the client programs.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The name of the superuser.
    pub fn superuser(&self) -> &str {
        &self.options.superuser
    }

    fn lock(&self) -> Result<Lock, Error> {
        Lock::acquire(&self.home.lock(), self.options.lock_wait)
    }

    /// Waits for a server that is there already; `None` when there is none, or it has gone.
    fn join_running_server(&self) -> Result<Option<i32>, Error> {
        let data = self.home.data();
        match postmaster::holder(&data)? {
            Holder::Nobody | Holder::Remains(_) => Ok(None),
            Holder::Server(PidFile { pid, phase, .. }) => match phase {
                Phase::Ready => self.wait_until_ready(self.options.deadline),
                Phase::Starting => self.wait_until_ready(self.options.recovery_deadline),
                Phase::SingleUser => Err(Error::SingleUser { pid, data_dir: data }),
                Phase::Stopping => {
                    if postmaster::wait_until_gone(&data, self.options.deadline)? {
                        return Ok(None);
                    }
                    Err(Error::Stop { pid, output: "it is still shutting down".to_owned() })
                }
            },
        }
    }

    /// Makes sure that nobody holds the data directory, and clears what the dead have left.
    ///
    /// Order matters. The pid file is PostgreSQL's own guard against two servers on one folder, so
    /// it goes only after every process that could still write is gone.
    fn take_over(&self, recovered: &mut Vec<String>) -> Result<(), Error> {
        let data = self.home.data();
        postmaster::clear_leftover_processes(&data, self.options.leftover_grace, recovered)?;
        let socket_dir = socket::folder(&self.home)?;
        if socket::answers(&socket_dir) {
            let socket = socket::socket_file(&socket_dir);
            return Err(Error::RunsElsewhere { socket, data_dir: data });
        }
        if let Holder::Remains(why) = postmaster::holder(&data)? {
            postmaster::remove_pid_file(&data)?;
            recovered.push(format!("removed a stale postmaster.pid: {why}"));
        }
        if socket::sweep(&socket_dir)? {
            recovered.push("removed the socket of a server that is gone".to_owned());
        }
        // A cluster restored from a backup by root belongs to root, as whom nobody may serve it.
        let owner = data.metadata().doing("look at", &data)?.uid();
        if self.user.dropped && owner != self.user.uid {
            files::hand_over_tree(&data, &self.user)?;
            recovered.push(format!("gave the data directory to user {}", self.user.name));
        }
        Ok(())
    }

    /// Makes the log ready; answers where this start's messages will begin.
    fn prepare_log(&self) -> Result<u64, Error> {
        let log = self.home.log();
        self.limit_log()?;
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = files::open_no_link(&mut options, &log).doing("open", &log)?;
        if let Some(owner) = self.user.as_owner() {
            fchown(&file, Some(owner.uid), Some(owner.gid)).doing("hand over", &log)?;
        }
        Ok(files::size(&log))
    }

    /// Starts the server and waits until it accepts connections.
    fn launch(&self, log_begins_at: u64) -> Result<i32, Error> {
        let log = self.home.log();
        let log_path = log.to_str().expect("a home is checked to be text when it is resolved");
        let output = self.pg_ctl(&["start", "--log", log_path])?;
        // pg_ctl gives up after the deadline while the server goes on; only the pid file says whether
        // it is dead or still replaying its log.
        let more = if self.log_shows_recovery(log_begins_at) {
            self.options.recovery_deadline
        } else {
            FIRST_ANSWER
        };
        let ready = self.wait_until_ready(more)?;
        ready.ok_or_else(|| Error::Start {
            output: said(&output),
            log: log.clone(),
            log_tail: files::last_lines(&log, LOG_LINES_IN_ERRORS),
        })
    }

    /// The process number of the ready server; `None` when there is no server (any more).
    fn wait_until_ready(&self, limit: Duration) -> Result<Option<i32>, Error> {
        let data = self.home.data();
        let socket_dir = socket::folder(&self.home)?;
        let answer = wait::until(limit, || {
            Ok(match postmaster::holder(&data)? {
                Holder::Server(PidFile { pid, phase: Phase::Ready, .. })
                    if socket::greets(&socket_dir) =>
                {
                    Some(Some(pid))
                }
                Holder::Server(_) => None,
                Holder::Nobody | Holder::Remains(_) => Some(None),
            })
        })?;
        answer.ok_or_else(|| Error::NotReady {
            waited_s: limit.max(self.options.deadline).as_secs(),
            log: self.home.log(),
            log_tail: files::last_lines(&self.home.log(), LOG_LINES_IN_ERRORS),
        })
    }

    fn log_shows_recovery(&self, log_begins_at: u64) -> bool {
        let text = files::text_after(&self.home.log(), log_begins_at);
        SIGNS_OF_RECOVERY.iter().any(|sign| text.contains(sign))
    }

    /// `pg_ctl` puts the server into a session of its own, so that it survives us and our terminal.
    fn pg_ctl(&self, args: &[&str]) -> Result<Output, Error> {
        let mut pg_ctl = self.binaries.command("pg_ctl");
        pg_ctl
            .args(args)
            .arg("--pgdata")
            .arg(self.home.data())
            .args(["--wait", "--silent", "--timeout"])
            .arg(self.options.deadline.as_secs().max(1).to_string());
        self.user.run(&mut pg_ctl);
        pg_ctl.output().doing("run", &self.binaries.bin_dir.join("pg_ctl"))
    }
}

fn said(output: &Output) -> String {
    let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&all).trim().to_owned()
}
