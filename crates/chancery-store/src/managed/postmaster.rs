//! Who holds the data directory: a live server, a dead one's remains, or nobody.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::error::{Doing, Error};
use super::{files, wait};

/// How long an asked process gets to leave before it is asked less politely.
pub(super) const AFTER_SIGNAL: Duration = Duration::from_secs(5);

pub(super) fn pid_file(data: &Path) -> PathBuf {
    data.join("postmaster.pid")
}

/// The phase a server writes into its pid file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Starting,
    Ready,
    Stopping,
    /// `postgres --single`, which writes its process number with a minus.
    SingleUser,
}

/// What `postmaster.pid` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PidFile {
    pub(super) pid: i32,
    pub(super) data_dir: PathBuf,
    /// Seconds since 1970.
    pub(super) started_at: Option<u64>,
    pub(super) phase: Phase,
}

impl PidFile {
    /// Lines: process, data directory, start time, port, socket folder, address, memory key, phase.
    /// The server appends the later ones as it comes up.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let number: i32 = lines.next()?.trim().parse().ok()?;
        let data_dir = lines.next()?.into();
        let started_at = lines.next().and_then(|line| line.trim().parse().ok());
        let phase = match lines.nth(4).map(str::trim) {
            _ if number < 0 => Phase::SingleUser,
            Some("ready" | "standby") => Phase::Ready,
            Some("stopping") => Phase::Stopping,
            _ => Phase::Starting,
        };
        let pid = number.checked_abs().filter(|pid| *pid > 0)?;
        Some(Self { pid, data_dir, started_at, phase })
    }
}

#[derive(Debug)]
pub(super) enum Holder {
    Nobody,
    Server(PidFile),
    /// A pid file without its server, and how we know.
    Remains(String),
}

/// Reads the pid file and asks the system whether it is true.
pub(super) fn holder(data: &Path) -> Result<Holder, Error> {
    let Some(text) = files::read_if_there(&pid_file(data))? else { return Ok(Holder::Nobody) };
    let Some(found) = PidFile::parse(&text) else {
        return Ok(Holder::Remains("it can't be read".to_owned()));
    };
    // A process number alone proves nothing: after a reboot it may be anybody's.
    Ok(match works_in(found.pid, data, &found.data_dir) {
        true => Holder::Server(found),
        false => Holder::Remains(format!("process {} is no server of this cluster", found.pid)),
    })
}

/// Ends the processes that a killed server left behind.
///
/// They leave by themselves once they look up from their work, but one in a long query never does.
/// PostgreSQL refuses to start as long as one is attached to the old shared memory, and rightly: it
/// still writes to the files. Only processes whose working directory is this cluster are signalled.
pub(super) fn clear_leftover_processes(
    data: &Path,
    grace: Duration,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let first = servers_in(data);
    if first.is_empty() {
        return Ok(());
    }
    if wait_until_gone(data, grace)? {
        notes.push(format!("processes of the earlier server had to leave first: {}", first.len()));
        return Ok(());
    }
    for signal in [Signal::QUIT, Signal::KILL] {
        let remaining = servers_in(data);
        for pid in remaining.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            // It may have left since we looked.
            let _ = kill_process(pid, signal);
        }
        if wait_until_gone(data, AFTER_SIGNAL)? {
            notes.push(format!(
                "ended leftover processes of the earlier server: {}",
                remaining.len()
            ));
            return Ok(());
        }
    }
    Err(Error::LeftoverProcesses { data_dir: data.to_owned(), pids: servers_in(data) })
}

/// Whether no process works in the data directory (any more), and no pid file says so.
pub(super) fn wait_until_gone(data: &Path, limit: Duration) -> Result<bool, Error> {
    let gone = wait::until(limit, || {
        let nobody = servers_in(data).is_empty() && !matches!(holder(data)?, Holder::Server(_));
        Ok(nobody.then_some(()))
    })?;
    Ok(gone.is_some())
}

/// Removes a pid file that was found untrue.
pub(super) fn remove_pid_file(data: &Path) -> Result<(), Error> {
    files::remove_if_there(&pid_file(data)).map(drop)
}

/// Every process of a server on this data directory; empty where there is no `/proc`.
fn servers_in(data: &Path) -> Vec<i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| is_postgres(*pid) && stands_in(*pid, data))
        .collect()
}

fn works_in(pid: i32, data: &Path, claimed_data_dir: &Path) -> bool {
    if Path::new("/proc/self/cwd").exists() {
        return is_postgres(pid) && stands_in(pid, data);
    }
    // Without /proc: it lives, is called postgres, and claims to serve this folder.
    let alive = Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok());
    let command = Command::new("ps").args(["-o", "comm=", "-p"]).arg(pid.to_string()).output();
    let is_named_postgres =
        command.is_ok_and(|ps| String::from_utf8_lossy(&ps.stdout).contains("postgres"));
    alive && is_named_postgres && claimed_data_dir == data
}

/// By the program's name: a shell that somebody left in the folder is none of our business.
fn is_postgres(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|name| name.contains("postgres") || name.starts_with("postmaster"))
}

/// Every server process works from its data directory. A zombie has none, so it doesn't count.
fn stands_in(pid: i32, data: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino()));
    match (identity(Path::new(&format!("/proc/{pid}/cwd"))), identity(data)) {
        (Ok(cwd), Ok(data)) => cwd == data,
        _ => false,
    }
}

/// What the data directory is, before anything is done to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Nothing there, or an empty folder.
    Absent,
    Cluster {
        major: u32,
    },
}

/// Tells a cluster from an empty place; anything else is refused rather than overwritten.
pub(super) fn inspect_data(data: &Path) -> Result<Data, Error> {
    let entries = match fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Data::Absent),
        Err(error) => return Err(error).doing("list", data),
    };
    if entries.count() == 0 {
        return Ok(Data::Absent);
    }
    let not_a_cluster = |missing| Error::NotACluster { path: data.to_owned(), missing };
    let major = files::read_if_there(&data.join("PG_VERSION"))?
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| not_a_cluster("PG_VERSION"))?;
    if !data.join("global/pg_control").is_file() {
        return Err(not_a_cluster("global/pg_control"));
    }
    Ok(Data::Cluster { major })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_is_read_from_every_stage_of_a_pid_file() {
        let check = |text: &str, expect: Option<(i32, Phase)>| {
            assert_eq!(PidFile::parse(text).map(|file| (file.pid, file.phase)), expect, "{text:?}");
        };
        let early = "42\n/none/data\n1700000000\n5432\n";
        check(early, Some((42, Phase::Starting)));
        let whole = format!("{early}/none/run\n\n  123  456\n");
        check(&format!("{whole}starting\n"), Some((42, Phase::Starting)));
        check(&format!("{whole}ready   \n"), Some((42, Phase::Ready)));
        check(&format!("{whole}stopping\n"), Some((42, Phase::Stopping)));
        check("-42\n/none/data\n", Some((42, Phase::SingleUser)));
        check("", None);
        check("0\n/none/data\n", None);
        check("-2147483648\n/none/data\n", None);
        check("nonsense\n/none/data\n", None);
    }
}
