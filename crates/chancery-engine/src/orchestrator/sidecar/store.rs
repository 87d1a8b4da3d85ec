//! Reading and replacing `state.json`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde_json::Value;

use super::error::Error;
use super::folder::{Folder, sync_dir};
use super::record::Run;
use super::text;
use crate::orchestrator::lock::{self, Lock};
use crate::orchestrator::run_id::RunId;

/// More than a thousand units with all their facts; a larger file is not ours.
const LARGEST_FILE: u64 = 64 << 20;

/// A run that this process works on: it holds the run's lock until it is dropped.
#[derive(Debug)]
pub struct Sidecar {
    folder: Folder,
    run: Run,
    _lock: Lock,
}

/// What is done, one after the other, to replace `state.json`.
///
/// Until the rename is done, the old file is in its place; from then on, the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    CreateNext,
    /// The first half of the bytes.
    WriteHalf,
    WriteRest,
    SyncNext,
    Rename,
    SyncFolder,
}

impl Step {
    pub const ALL: [Self; 6] = [
        Self::CreateNext,
        Self::WriteHalf,
        Self::WriteRest,
        Self::SyncNext,
        Self::Rename,
        Self::SyncFolder,
    ];

    /// The step in the words of an error message.
    const fn doing(self) -> &'static str {
        match self {
            Self::CreateNext => "create",
            Self::WriteHalf | Self::WriteRest => "write",
            Self::SyncNext => "sync",
            Self::Rename => "put in place",
            Self::SyncFolder => "sync the folder of",
        }
    }
}

impl Sidecar {
    /// Begins a run: makes its folder, takes its lock, writes its first state.
    ///
    /// A folder without a state is what a crash leaves here; it is taken over.
    pub fn create(root: &Path, run: Run) -> Result<Self, Error> {
        Self::create_with(root, run, &mut |_| Ok(()))
    }

    /// [`Sidecar::create`], asking before each step of the write.
    pub fn create_with(
        root: &Path,
        run: Run,
        before: &mut dyn FnMut(Step) -> io::Result<()>,
    ) -> Result<Self, Error> {
        let folder = Folder::of(root, run.run_id);
        folder.make()?;
        let lock = locked(&folder)?;
        let state = folder.state();
        match fs::symlink_metadata(&state) {
            Ok(_) => return Err(Error::Exists { run_id: run.run_id }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::of_io("look at", &state, error)),
        }
        remove_next(&folder)?;
        let sidecar = Self { folder, run, _lock: lock };
        sidecar.store_with(before)?;
        Ok(sidecar)
    }

    /// Takes a run's lock, clears away what a crash left, and reads where the run stands.
    pub fn open(root: &Path, run_id: RunId) -> Result<Self, Error> {
        let folder = Folder::of(root, run_id);
        let lock = locked(&folder)?;
        remove_next(&folder)?;
        let run = read_in(&folder)?;
        Ok(Self { folder, run, _lock: lock })
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run, to be changed; nothing is kept before [`Sidecar::store`].
    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Pins a value; secrets are refused. Nothing is kept before [`Sidecar::store`].
    pub fn pin(&mut self, key: &str, value: Value) -> Result<(), Error> {
        self.run.context_pins.pin(key, value)
    }

    /// Replaces `state.json`.
    ///
    /// After an error the file is whole: the old one, or, when only the last step failed, the new one, of which is not
    /// known whether it outlives a power cut. Storing again is safe in both cases.
    pub fn store(&self) -> Result<(), Error> {
        self.store_with(&mut |_| Ok(()))
    }

    /// [`Sidecar::store`], asking before each step; an error of `before` counts as the step's own.
    pub fn store_with(&self, before: &mut dyn FnMut(Step) -> io::Result<()>) -> Result<(), Error> {
        // A run is one folder: a state under another id would make the folder unreadable.
        if self.run.run_id != self.folder.run_id() {
            return Err(Error::Edited {
                run_id: self.folder.run_id(),
                path: self.folder.state(),
                what: "would be the file of another run".to_owned(),
            });
        }
        let bytes = text::of(&self.run);
        let mut at = Step::CreateNext;
        replace(&self.folder, bytes.as_bytes(), &mut |step| {
            at = step;
            before(step)
        })
        .map_err(|error| {
            if at != Step::SyncFolder {
                // Best effort: the next store or open removes it as well, and room may be what is missing.
                let _ = fs::remove_file(self.folder.next_state());
            }
            Error::of_io(at.doing(), &self.folder.state(), error)
        })
    }
}

/// Where a run stands, for somebody who only looks.
pub fn read(root: &Path, run_id: RunId) -> Result<Run, Error> {
    read_in(&Folder::of(root, run_id))
}

fn read_in(folder: &Folder) -> Result<Run, Error> {
    let path = folder.state();
    let bytes = read_file(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => not_found(folder),
        _ => Error::of_io("read", &path, error),
    })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST_FILE) {
        let what = "is too large to be a sidecar".to_owned();
        return Err(Error::Corrupt { run_id: folder.run_id(), path, what });
    }
    text::read(&bytes, folder)
}

fn not_found(folder: &Folder) -> Error {
    Error::NotFound { run_id: folder.run_id(), root: folder.root().to_owned() }
}

fn read_file(path: &PathBuf) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new()
        .read(true)
        // Neither led elsewhere by a link nor kept waiting by a pipe.
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn locked(folder: &Folder) -> Result<Lock, Error> {
    let path = folder.lock();
    Lock::acquire(&path).map_err(|error| match error {
        lock::Error::Held(holder) => Error::Busy { run_id: folder.run_id(), holder },
        lock::Error::Io(error) if error.kind() == ErrorKind::NotFound => not_found(folder),
        lock::Error::Io(error) => Error::of_io("lock", &path, error),
    })
}

/// Removes what a crash or a failure left of a write. Only the holder of the lock may.
fn remove_next(folder: &Folder) -> Result<(), Error> {
    let path = folder.next_state();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::of_io("remove", &path, error))
        }
        _ => Ok(()),
    }
}

/// Puts whole bytes in place of `state.json`, durably, or leaves it untouched.
fn replace(
    folder: &Folder,
    bytes: &[u8],
    before: &mut dyn FnMut(Step) -> io::Result<()>,
) -> io::Result<()> {
    let next = folder.next_state();
    before(Step::CreateNext)?;
    let mut file = match create(&next) {
        // An earlier failure could not remove it.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&next)?;
            create(&next)?
        }
        created => created?,
    };
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    before(Step::WriteHalf)?;
    file.write_all(half)?;
    before(Step::WriteRest)?;
    file.write_all(rest)?;
    before(Step::SyncNext)?;
    file.sync_all()?;
    // A file system that lost bytes without saying so must not cost us the old state as well.
    if fs::read(&next)? != bytes {
        return Err(io::Error::new(ErrorKind::WriteZero, "what was written is not all there"));
    }
    before(Step::Rename)?;
    fs::rename(&next, folder.state())?;
    before(Step::SyncFolder)?;
    sync_dir(folder.path())
}

fn create(path: &Path) -> io::Result<File> {
    // `create_new` does not follow a link either.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
