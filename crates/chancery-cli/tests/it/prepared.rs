//! Data directories that are made once and copied for each test.
//!
//! They lie beside the cluster of the testkit, in the system's temporary folder, and go with it: `test-cluster stop` removes
//! them. One of another release, or of yesterday (whose partitions are a day behind), is never used: both are in its name.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use chancery_testkit::TestCluster;
use rustix::fs::{FlockOperation, flock};

use crate::place::Place;

/// The data directory of this name, made by whoever asks first; the others wait.
pub(crate) fn original(
    name: &str,
    begin: impl FnOnce() -> Place,
    prepare: impl FnOnce(&Place),
) -> PathBuf {
    let folder = TestCluster::prepared_homes();
    fs::create_dir_all(&folder).expect("a folder for data directories");
    let original = folder.join(name);
    if original.is_dir() {
        return original;
    }
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("a file to lock");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock");
    if !original.is_dir() {
        let place = begin();
        prepare(&place);
        place.done(&["db", "stop"]);
        let draft = folder.join(format!("{name}.draft"));
        let _ = fs::remove_dir_all(&draft);
        fs::create_dir(&draft).expect("a folder");
        copy(place.path(), &draft);
        fs::rename(&draft, &original).expect("it is put in place when it is whole");
    }
    original
}

/// Copies what is in a data directory, with its owners: the server is another user when the tests are root.
pub(crate) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).output();
    let copied = copied.expect("cp runs");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
}
