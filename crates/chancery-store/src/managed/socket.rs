//! The folder of the server's unix socket.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use super::error::{Doing, Error};
use super::files;
use super::home::Home;
use super::os_user::{OsUser, folder_mode};

/// Part of the socket's name only: nothing listens on TCP.
pub(super) const PORT: u16 = 5432;

/// The kernel allows 107 bytes (103 on macOS) for a socket's path.
const LONGEST_SOCKET_PATH: usize = 100;

pub(super) fn socket_file(dir: &Path) -> PathBuf {
    dir.join(format!(".s.PGSQL.{PORT}"))
}

fn socket_lock_file(dir: &Path) -> PathBuf {
    dir.join(format!(".s.PGSQL.{PORT}.lock"))
}

/// Where this home's socket is or will be.
///
/// The recorded folder counts as long as it can be this home's: `/run` or `/tmp` depends on who
/// asks, and everybody must look in the same place. A home that was moved gets a new one.
pub(super) fn folder(home: &Home) -> Result<PathBuf, Error> {
    let own = home.pg().join("run");
    if socket_file(&own).as_os_str().len() <= LONGEST_SOCKET_PATH {
        return Ok(own);
    }
    let name = short_name(home);
    let recorded = files::read_if_there(&home.socket_record())?
        .map(|text| PathBuf::from(text.trim_end_matches('\n')))
        .filter(|dir| dir.is_absolute() && dir.file_name().is_some_and(|last| last == &*name));
    Ok(recorded.unwrap_or_else(|| {
        let base = if geteuid().is_root() && Path::new("/run").is_dir() { "/run" } else { "/tmp" };
        Path::new(base).join(name)
    }))
}

fn short_name(home: &Home) -> String {
    let digest = Sha256::digest(home.path().as_os_str().as_bytes());
    format!("chancery-{}", hex::encode(&digest[..4]))
}

/// Makes the folder, which a reboot may have swept away, and records it.
pub(super) fn prepare(home: &Home, dir: &Path, user: &OsUser) -> Result<(), Error> {
    files::make_dir(dir, folder_mode())?;
    // Somebody else may have laid a folder or a link of this name into /tmp, to sit between us and
    // the server: only a real folder of ours, closed to other writers, will do.
    let found = dir.symlink_metadata().doing("look at", dir)?;
    let unusable = |why: String| Error::SocketDir { path: dir.to_owned(), why };
    if !found.is_dir() {
        return Err(unusable("it is no folder".to_owned()));
    }
    if found.uid() != user.uid && found.uid() != geteuid().as_raw() {
        return Err(unusable(format!("it belongs to another user (uid {})", found.uid())));
    }
    if found.mode() & 0o022 != 0 {
        return Err(unusable(format!(
            "other users can write to it (mode {:03o})",
            found.mode() & 0o777
        )));
    }
    if found.uid() != user.uid {
        lchown(dir, Some(user.uid), Some(user.gid)).doing("hand over", dir)?;
    }
    if found.mode() & 0o777 != folder_mode() {
        fs::set_permissions(dir, Permissions::from_mode(folder_mode()))
            .doing("set the mode of", dir)?;
    }
    let record = format!("{}\n", dir.display());
    files::replace_file(&home.socket_record(), record.as_bytes(), 0o644, None)
}

/// Whether any server listens there.
pub(super) fn answers(dir: &Path) -> bool {
    UnixStream::connect(socket_file(dir)).is_ok()
}

/// Whether a server there talks.
///
/// A process that is being killed still has its entry in `/proc` and its listening socket for a
/// moment; it no longer answers. The question is PostgreSQL's request for encryption, which the
/// server answers with one letter before it wants to know who asks, and leaves out of its log.
pub(super) fn greets(dir: &Path) -> bool {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(1));
    let ask = || -> io::Result<u8> {
        let mut stream = UnixStream::connect(socket_file(dir))?;
        stream.set_read_timeout(PATIENCE)?;
        stream.set_write_timeout(PATIENCE)?;
        stream.write_all(&SSL_REQUEST)?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    };
    ask().is_ok_and(|answer| matches!(answer, b'N' | b'S'))
}

/// Removes what a dead server left, when nobody is alive to hold it.
///
/// PostgreSQL would do it too, unless the process number in its lock file is taken again by another
/// process of the same user, or by a zombie that nobody reaps: then it refuses to start.
pub(super) fn sweep(dir: &Path) -> Result<bool, Error> {
    let socket = files::remove_if_there(&socket_file(dir))?;
    let lock = files::remove_if_there(&socket_lock_file(dir))?;
    Ok(socket || lock)
}
