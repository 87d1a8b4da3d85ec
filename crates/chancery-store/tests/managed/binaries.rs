//! Finding the server.

use std::fs;

use chancery_store::managed::{BinarySearch, Cluster, Error, find_binaries};

use crate::support::*;

#[test]
fn without_a_server_the_message_names_the_package() {
    let folder = open_folder();
    let home = home_at(folder.path());
    let nowhere = BinarySearch {
        path: vec![folder.path().join("bin")],
        cache: Some(home.binary_cache()),
        ..BinarySearch::default()
    };
    let error = find_binaries(&nowhere).expect_err("nothing is there");
    let text = error.to_string();
    assert!(matches!(error, Error::NoServer { .. }));
    assert!(text.contains("apt-get install postgresql-15"), "{text}");
    assert!(text.contains(&folder.path().join("bin").display().to_string()), "{text}");

    // Some of the programs are not enough.
    fake_bin_dir(&folder.path().join("bin"), "16.2", &["postgres", "pg_ctl"]);
    assert!(matches!(find_binaries(&nowhere), Err(Error::NoServer { .. })));
}

#[test]
fn a_server_that_is_too_old_is_named_with_what_is_needed() {
    let folder = open_folder();
    let bin = fake_bin_dir(folder.path(), "14.9", &SERVER_PROGRAMS);
    let search = BinarySearch { explicit: Some(bin.clone()), ..BinarySearch::default() };
    match find_binaries(&search) {
        Err(Error::TooOld { found, at, needs }) => {
            assert_eq!((found.as_str(), at, needs), ("14.9", bin, 15));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_server_wins_wherever_it_is_and_a_named_folder_beats_all() {
    let folder = open_folder();
    let at = |name: &str, version: &str| {
        fake_bin_dir(&folder.path().join(name), version, &SERVER_PROGRAMS)
    };
    let (old, middle) = (at("old", "14.1"), at("middle", "15.4"));
    let newest = at("cache/usr/lib/postgresql/17/bin", "17.2");
    let pg_config = format!("#!/bin/sh\necho '{}'\n", middle.display());
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    write_program(&tools.join("pg_config"), &pg_config);

    let search = BinarySearch {
        path: vec![old.clone(), tools],
        cache: Some(folder.path().join("cache")),
        ..BinarySearch::default()
    };
    let found = find_binaries(&search).expect("two will do");
    assert_eq!((found.version.major, &found.bin_dir), (17, &newest));
    assert_eq!(found.for_major(15).map(|other| &other.bin_dir), Some(&middle));
    assert!(found.for_major(14).is_none());
    assert_eq!((found.psql, found.pg_dump), (None, None));

    let named = BinarySearch { explicit: Some(middle.clone()), ..search };
    assert_eq!(find_binaries(&named).expect("will do").bin_dir, middle);
}

#[test]
fn an_existing_cluster_keeps_its_major_version() {
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let folder = open_folder();
    let real = real_binaries();
    let newer = fake_bin_dir(&folder.path().join("newer"), "99.1", &SERVER_PROGRAMS);
    let both =
        BinarySearch { path: vec![newer.clone(), real.bin_dir.clone()], ..BinarySearch::default() };
    let newest = find_binaries(&both).expect("two will do");
    assert_eq!(newest.version.major, 99);
    let cluster = Cluster::open(place.home().clone(), newest, small()).expect("opens");
    assert_eq!(cluster.binaries().bin_dir, real.bin_dir);

    let only_newer = BinarySearch { explicit: Some(newer), ..BinarySearch::default() };
    let only_newer = find_binaries(&only_newer).expect("will do");
    let error = Cluster::open(place.home().clone(), only_newer, small()).expect_err("does not fit");
    let package = format!("apt-get install postgresql-{}", real.version.major);
    assert!(error.to_string().contains(&package), "{error}");
}
