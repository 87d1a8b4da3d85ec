//! File work that must not be left half done, nor be misled by a link.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, fchown, lchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::error::{Doing, Error};
use super::os_user::OsUser;

/// Makes a folder and its missing parents with exactly this mode, whatever the umask is.
pub(super) fn make_dir(path: &Path, mode: u32) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_dir(parent, mode)?;
    }
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) => {
            fs::set_permissions(path, Permissions::from_mode(mode)).doing("set the mode of", path)
        }
        // Another starter made it in between.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error).doing("create the folder", path),
    }
}

/// Writes a new file beside its name; links and existing files are never written through.
pub(super) fn create_file(
    path: &Path,
    contents: &[u8],
    mode: u32,
    owner: Option<&OsUser>,
) -> Result<(), Error> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .doing("create", path)?;
    if let Some(owner) = owner {
        fchown(&file, Some(owner.uid), Some(owner.gid)).doing("hand over", path)?;
    }
    file.write_all(contents).and_then(|()| file.sync_all()).doing("write", path)
}

/// Puts a whole file in place of what is there, or leaves that untouched.
pub(super) fn replace_file(
    path: &Path,
    contents: &[u8],
    mode: u32,
    owner: Option<&OsUser>,
) -> Result<(), Error> {
    let draft = path.with_extension("draft");
    remove_if_there(&draft)?;
    create_file(&draft, contents, mode, owner)?;
    fs::rename(&draft, path).doing("put in place", path)?;
    sync_parent(path)
}

/// Makes a rename or a new name durable.
pub(super) fn sync_parent(path: &Path) -> Result<(), Error> {
    let parent = path.parent().expect("files of the cluster lie in a folder");
    File::open(parent).and_then(|dir| dir.sync_all()).doing("sync", parent)
}

pub(super) fn remove_if_there(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).doing("remove", path),
    }
}

/// The text of a file; a link is refused.
///
/// The server's user could lay a link in its folder, and a root process would read through it what
/// that user may not see.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, Error> {
    let mut file = match open_no_link(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).doing("read", path),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).doing("read", path)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Opens a file unless its name is a link.
pub(super) fn open_no_link(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}

/// Gives a folder and all in it to a user; links themselves, never what they point at.
pub(super) fn hand_over_tree(path: &Path, owner: &OsUser) -> Result<(), Error> {
    let mut waiting: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        lchown(&path, Some(owner.uid), Some(owner.gid)).doing("hand over", &path)?;
        if path.symlink_metadata().doing("look at", &path)?.is_dir() {
            for entry in fs::read_dir(&path).doing("list", &path)? {
                waiting.push(entry.doing("list", &path)?.path());
            }
        }
    }
    Ok(())
}

pub(super) fn size(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |metadata| metadata.len())
}

/// What was appended to a file after an offset; empty when it can't be read.
pub(super) fn text_after(path: &Path, offset: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path)
        && file.seek(SeekFrom::Start(offset)).is_ok()
    {
        // A partial read still helps whoever reads the message.
        let _ = file.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last lines of a log, for an error message.
pub(super) fn last_lines(path: &Path, count: usize) -> String {
    const ENOUGH_BYTES: u64 = 16 * 1024;
    let text = text_after(path, size(path).saturating_sub(ENOUGH_BYTES));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
