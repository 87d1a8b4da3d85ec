//! One starter or stopper at a time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::{Doing, Error};
use super::{files, wait};

/// Holds the cluster's lock until it is dropped; the kernel frees it when the process dies.
///
/// The file is opened close-on-exec, so the server that is started under the lock does not keep it.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn acquire(path: &Path, limit: Duration) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = files::open_no_link(&mut options, path).doing("open the lock", path)?;
        let taken =
            wait::until(limit, || match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => Ok(Some(())),
                Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
                Err(errno) => Err(errno).doing("take the lock", path),
            })?;
        match taken {
            Some(()) => Ok(Self { _file: file }),
            None => Err(Error::Locked { path: path.to_owned(), waited_s: limit.as_secs() }),
        }
    }
}
