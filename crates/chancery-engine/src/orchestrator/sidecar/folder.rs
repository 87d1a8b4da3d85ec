//! The folder of a run, and where things lie in it.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::error::Error;
use crate::orchestrator::run_id::RunId;

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
    run_id: RunId,
    path: PathBuf,
}

impl Folder {
    /// The folder of a run, there or not.
    pub fn of(root: &Path, run_id: RunId) -> Self {
        Self { root: root.to_owned(), run_id, path: root.join(run_id.to_string()) }
    }

    pub fn run_id(&self) -> RunId {
        self.run_id
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the run stands.
    pub fn state(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// Held by the process that works on the run.
    pub fn lock(&self) -> PathBuf {
        self.path.join("state.lock")
    }

    /// The encrypted backup.
    pub fn backup(&self) -> PathBuf {
        self.path.join("pre_write.gpg")
    }

    /// The report of the internal phase with this number, counted from 1.
    pub fn phase_report(&self, number: u8) -> PathBuf {
        self.path.join(format!("phase-{number:02}.md"))
    }

    /// The next `state.json` while it is written. One name is enough: only the holder of the lock writes.
    pub(super) fn next_state(&self) -> PathBuf {
        self.path.join("state.json.next")
    }

    /// Makes the folder, readable by its owner alone, and its name durable.
    pub(super) fn make(&self) -> Result<(), Error> {
        make_dir(&self.path).map_err(|(path, error)| Error::of_io("make the folder", &path, error))
    }
}

/// Makes a folder and its missing parents with mode 0700, whatever the umask is; what is there stays as it is.
fn make_dir(path: &Path) -> Result<(), (PathBuf, io::Error)> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        make_dir(parent)?;
    }
    let made = match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o700)),
        // Another starter made it in between.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    };
    made.and_then(|()| sync_dir(parent.unwrap_or_else(|| Path::new("."))))
        .map_err(|error| (path.to_owned(), error))
}

/// Makes new names in a folder durable.
pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The runs that have a folder here, oldest first; other folders are none of ours.
pub fn list(root: &Path) -> Result<Vec<RunId>, Error> {
    let failed = |error| Error::of_io("list the runs in", root, error);
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        // Nobody has started a run yet.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let run_id = entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok());
        if let Some(run_id) = run_id
            && entry.file_type().map_err(failed)?.is_dir()
        {
            runs.push(run_id);
        }
    }
    runs.sort_unstable();
    Ok(runs)
}
