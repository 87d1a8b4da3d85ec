//! One process at a time works on a run.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use serde::{Deserialize, Serialize};

/// Enough for what a holder writes; the file of somebody else may be of any size.
const NOTE_BYTES: u64 = 256;

/// Holds a lock file until it is dropped; the kernel frees it when the process dies, however it dies.
///
/// An OFD lock: one that belongs to the open file and not to the process. A classic POSIX lock would be lost as soon as
/// the process closes any other handle of the file, and would let two tasks of one process both in. Programs that take
/// the classic `fcntl` lock are kept out all the same. rustix has no OFD locks; nix has.
///
/// The file is opened close-on-exec, so a program that is started under the lock does not keep it. The file itself
/// stays: who removes a lock file can remove the one that somebody else has just locked.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Who holds a lock, as far as it told.
///
/// For people only. Nothing is decided by it: the process id may be of another machine or another container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub since_utc: Timestamp,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} since {}", self.pid, self.since_utc.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process, or another handle of this one, has it.
    #[error("locked{}", .0.map_or_else(String::new, |holder| format!(" by {holder}")))]
    Held(Option<Holder>),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Lock {
    /// Takes the lock, or says at once who has it.
    pub fn acquire(path: &Path) -> Result<Self, Error> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // A link could point at a file whose lock, or whose text, is none of our business.
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(path)?;
        loop {
            match fcntl(&file, FcntlArg::F_OFD_SETLK(&whole_file())) {
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::EACCES) => {
                    return Err(Error::Held(read_note(&mut file)));
                }
                Err(errno) => return Err(Error::Io(errno.into())),
            }
        }
        // Best effort: a full disk must not keep anybody from looking after the run.
        let _ = write_note(&mut file);
        Ok(Self { _file: file })
    }
}

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short, // 1; the constants are declared wider than the field
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0, // OFD locks ask for it
    }
}

fn write_note(file: &mut File) -> io::Result<()> {
    // The machine's own clock, as the note is for people; see `Holder`.
    let holder = Holder { pid: std::process::id(), since_utc: Timestamp::now() };
    let note = serde_json::to_string(&holder).map_err(io::Error::from)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{note}\n").as_bytes())
}

fn read_note(file: &mut File) -> Option<Holder> {
    let mut note = String::new();
    file.take(NOTE_BYTES).read_to_string(&mut note).ok()?;
    serde_json::from_str(&note).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// ORC-5: of two who want the run, one gets it, also within one process.
    #[test]
    fn of_two_lockers_one_wins_and_the_other_learns_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.lock");
        let first = Lock::acquire(&path).unwrap();
        match Lock::acquire(&path) {
            Err(Error::Held(Some(holder))) => assert_eq!(holder.pid, std::process::id()),
            other => panic!("{other:?}"),
        }
        // With a classic POSIX lock, the second handle's closing would have freed the first.
        assert!(matches!(Lock::acquire(&path), Err(Error::Held(_))));
        drop(first);
        Lock::acquire(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_file_of_a_dead_holder_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.lock");
        for left in ["", "not a note", "{\"pid\":1,\"since_utc\":\"2026-05-20T09:30:00Z\"}\n"] {
            std::fs::write(&path, left.repeat(3)).unwrap();
            let held = Lock::acquire(&path).unwrap();
            let note = std::fs::read_to_string(&path).unwrap();
            let holder: Holder = serde_json::from_str(&note).unwrap();
            assert_eq!(holder.pid, std::process::id());
            drop(held);
        }
    }

    #[test]
    fn a_note_that_makes_no_sense_is_still_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.lock");
        let _held = Lock::acquire(&path).unwrap();
        for note in ["", "{\"pid\":", &"x".repeat(100_000)] {
            std::fs::write(&path, note).unwrap();
            assert!(matches!(Lock::acquire(&path), Err(Error::Held(None))), "{note}");
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "mine").unwrap();
        let path = folder.path().join("state.lock");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(matches!(Lock::acquire(&path), Err(Error::Io(_))));
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "mine");
    }

    #[test]
    fn of_many_threads_at_once_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.lock");
        let start = std::sync::Barrier::new(8);
        let done = std::sync::Barrier::new(8);
        let winners = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let lock = Lock::acquire(&path);
                        // Nobody lets go before everybody has tried.
                        done.wait();
                        lock.is_ok()
                    })
                })
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).filter(|won| *won).count()
        });
        assert_eq!(winners, 1);
    }
}
