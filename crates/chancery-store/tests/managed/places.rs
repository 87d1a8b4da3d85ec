//! Folders that are too long, too open or too closed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chancery_store::managed::{Env, Error};

use crate::support::*;

#[test]
fn a_path_too_long_for_a_socket_falls_back_to_a_short_one() {
    let place = Place::below(&"long".repeat(25));
    let socket_dir = place.cluster.status().expect("has a status").socket_dir;
    assert!(socket_dir.to_string_lossy().len() < 40, "{socket_dir:?}");
    place.start();
    assert_eq!(place.query("select 1"), "1");
    let recorded = fs::read_to_string(place.home().pg().join("socket_dir")).expect("recorded");
    assert_eq!(Path::new(recorded.trim_end()), socket_dir);

    // A reboot empties such places.
    place.cluster.stop().expect("stops");
    fs::remove_dir_all(&socket_dir).expect("ours");
    place.start();
    assert_eq!(place.query("select 1"), "1");
}

#[test]
fn everybody_looks_for_the_socket_where_it_was_recorded() {
    let place = Place::below(&"long".repeat(25));
    let computed = place.cluster.status().expect("has a status").socket_dir;
    let name = computed.file_name().expect("has a name");
    let record = place.home().pg().join("socket_dir");
    fs::create_dir_all(place.home().pg()).expect("a folder");
    let elsewhere = place.folder.path().join(name);
    fs::write(&record, format!("{}\n", elsewhere.display())).expect("writable");
    assert_eq!(place.cluster.status().expect("has a status").socket_dir, elsewhere);

    // The record of a home that has moved, or nonsense, is not this home's.
    fs::write(&record, "/run/chancery-00000000\n").expect("writable");
    assert_eq!(place.cluster.status().expect("has a status").socket_dir, computed);
}

#[test]
fn a_short_socket_folder_that_others_can_write_to_is_refused() {
    let place = Place::below(&"long".repeat(25));
    let socket_dir = place.cluster.status().expect("has a status").socket_dir;
    fs::create_dir(&socket_dir).expect("free");
    fs::set_permissions(&socket_dir, Permissions::from_mode(0o777)).expect("ours");
    let error = place.cluster.start().expect_err("anybody could sit in between");
    assert!(matches!(error, Error::SocketDir { .. }), "{error}");
}

#[test]
fn a_folder_that_the_servers_user_can_not_enter_is_named() {
    if !Env::process_is_root() {
        return;
    }
    let place = Place::below("closed/home");
    let closed = place.home().path().parent().expect("has one").to_owned();
    fs::create_dir(&closed).expect("a folder");
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("ours");
    match place.cluster.start() {
        Err(Error::NotTraversable { folder, .. }) => assert_eq!(folder, closed),
        other => panic!("{other:?}"),
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o711)).expect("ours");
    place.start();
}
