//! A backup in the making, and how it takes its place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::{BackupError, partial_of, writing};

/// One attempt at a backup, with a file name of its own.
///
/// The process that takes a backup may outlive the runner that asked for it. When the next runner begins another attempt, the two must
/// share no file: the older one would rename, or remove, what the newer one is writing. So a process only ever makes the file of its
/// own attempt, and the runner, which holds the run's lock, puts one of them in place.
#[derive(Debug)]
pub struct Attempt {
    target: PathBuf,
    file: PathBuf,
}

impl Attempt {
    /// Begins an attempt at the backup `target`, and removes what earlier ones left. Only the holder of the run's lock may.
    pub fn begin(target: &Path) -> Self {
        // Best effort: what stays takes up room and nothing else.
        for left in left_by_others(target) {
            drop(fs::remove_file(left));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}", Uuid::now_v7().simple()));
        Self { target: target.to_owned(), file: target.with_file_name(name) }
    }

    /// The file to be made.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Puts the file in place. A backup that is there already and that no record names is replaced.
    ///
    /// # Errors
    /// When it cannot be renamed, or the new name cannot be made durable.
    pub fn keep(self) -> Result<(), BackupError> {
        let cannot = |error| writing(&self.target, error);
        fs::rename(&self.file, &self.target).map_err(cannot)?;
        sync_folder_of(&self.target).map_err(cannot)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.file));
        drop(fs::remove_file(partial_of(&self.file)));
    }
}

/// Without this a new name may be gone after a power cut.
pub(super) fn sync_folder_of(file: &Path) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new("."))).and_then(|folder| folder.sync_all())
}

/// The files of other attempts at this backup. A file of a person's, say `pre_write.gpg.old`, is none.
fn left_by_others(target: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name().and_then(|n| n.to_str()))
    else {
        return Vec::new();
    };
    let of_an_attempt = |found: &str| {
        let rest = found.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        // The last one is what releases before this one left.
        rest.map(|rest| rest.strip_suffix(".partial").unwrap_or(rest))
            .is_some_and(|id| Uuid::try_parse(id).is_ok() || id == "partial")
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(of_an_attempt))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ORC-11: of two attempts, the older one touches nothing of the newer, whatever it does at its end.
    #[test]
    fn attempts_share_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("pre_write.gpg");
        let older = Attempt::begin(&target);
        fs::write(older.file(), "half of the older").expect("a file");
        fs::write(partial_of(older.file()), "half of the older").expect("a file");
        let newer = Attempt::begin(&target);
        assert_ne!(older.file(), newer.file());
        assert!(!older.file().exists() && !partial_of(older.file()).exists(), "room is made");
        fs::write(newer.file(), "the newer").expect("a file");
        drop(older);
        newer.keep().expect("it is put in place");
        assert_eq!(fs::read_to_string(&target).expect("a backup"), "the newer");
    }

    /// ORC-6, ORC-11: what killed attempts left is cleared away, and nothing else is.
    #[test]
    fn only_what_attempts_left_is_cleared_away() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("pre_write.gpg");
        let id = Uuid::now_v7().simple();
        let left = ["pre_write.gpg.partial".to_owned(), format!("pre_write.gpg.{id}")];
        let left = [&left[..], &[format!("pre_write.gpg.{id}.partial")]].concat();
        let kept = ["pre_write.gpg", "pre_write.gpg.old", "state.json", "phase-04.md"];
        for name in left.iter().map(String::as_str).chain(kept) {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        drop(Attempt::begin(&target));
        let there = |name: &str| folder.path().join(name).exists();
        assert!(!left.iter().any(|name| there(name)));
        assert!(kept.into_iter().all(there));
    }
}
