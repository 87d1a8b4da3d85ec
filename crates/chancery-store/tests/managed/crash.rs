//! What a start makes of the remains of an earlier one.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use chancery_store::managed::{BinarySearch, Cluster, Env, Error, find_binaries};

use crate::support::*;

#[test]
fn after_a_killed_server_the_next_start_recovers_and_says_so() {
    let place = Place::new();
    let first = place.start();
    place.query("create table kept (n int); insert into kept values (1)");
    // Stays attached to the shared memory: a backend that does not look up from its work. (It ends
    // some time, in case that this test is broken off.)
    let loop_for_a_minute = "do 'begin while clock_timestamp() < now() + interval ''1 min'' loop \
                             end loop; end'";
    let busy = psql(&place.cluster, &place.as_superuser(), loop_for_a_minute)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let busy = Reaped(busy.expect("psql runs"));
    eventually("a busy backend", || {
        place.query("select count(*) from pg_stat_activity where query like 'do ''begin while%'")
            == "1"
    });

    // At once, while the system is still taking the process down: it must not pass for a running one.
    kill_9(first.pid);
    let second = place.start();
    assert!(!second.already_running && !second.created && second.pid != first.pid, "{second:?}");
    let told = second.recovered.join("; ");
    assert!(told.contains("ended leftover processes"), "{told}");
    assert!(told.contains("removed a stale postmaster.pid"), "{told}");
    assert!(told.contains("replayed its write-ahead log"), "{told}");
    assert_eq!(place.query("select count(*) from kept"), "1");
    drop(busy);
}

/// A child that is waited for, so that no zombie stays.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_pid_file_that_names_a_dead_process_or_a_stranger_is_removed() {
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let mut short = Command::new("/bin/true").spawn().expect("runs");
    let dead = short.id();
    short.wait().expect("ends");
    let stranger = std::process::id();
    let pid_file = place.home().data().join("postmaster.pid");
    for contents in [
        format!("{dead}\n{}\n1700000000\n5432\n", place.home().data().display()),
        format!("{stranger}\n{}\n1700000000\n5432\n", place.home().data().display()),
        String::new(),
    ] {
        fs::write(&pid_file, &contents).expect("writable");
        assert_eq!(place.cluster.status().expect("has a status").running, None);
        assert!(!place.cluster.stop().expect("nothing to stop"), "a stranger is never stopped");
        let started = place.start();
        let told = started.recovered.join("; ");
        assert!(told.contains("removed a stale postmaster.pid"), "{contents:?}: {told}");
        assert_eq!(place.query("select 1"), "1");
        place.cluster.stop().expect("stops");
    }
}

#[test]
fn a_half_made_cluster_is_cleared_away() {
    let place = Place::new();
    let half_made = place.home().pg().join("data.new-4711");
    fs::create_dir_all(half_made.join("global")).expect("a folder");
    fs::write(half_made.join("PG_VERSION"), "15\n").expect("writable");
    let password = place.home().pg().join("data.new-4711.password");
    fs::write(&password, "secret\n").expect("writable");

    let started = place.start();
    assert!(started.created);
    assert_eq!(started.recovered, ["removed data.new-4711, a cluster that was never finished"]);
    assert!(!half_made.exists() && !password.exists());
}

#[test]
fn a_failed_initdb_leaves_nothing_behind() {
    let folder = open_folder();
    let home = home_at(&folder.path().join("home"));
    let bin_dir = fake_bin_dir(&folder.path().join("bin"), "15.1", &["postgres", "pg_ctl"]);
    let script = "#!/bin/sh\necho half > \"$2/PG_VERSION\"\n\
                  echo 'no space left on device' >&2\nexit 1\n";
    write_program(&bin_dir.join("initdb"), script);
    let search = BinarySearch { explicit: Some(bin_dir), ..BinarySearch::default() };
    let binaries = find_binaries(&search).expect("looks like a server");
    let cluster = Cluster::open(home.clone(), binaries, small()).expect("opens");
    let error = cluster.start().expect_err("initdb fails");
    assert!(error.to_string().contains("no space left on device"), "{error}");
    let left = fs::read_dir(home.pg()).expect("listable").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["cluster.lock"]);
}

#[test]
fn a_folder_that_is_no_cluster_is_refused_and_left_alone() {
    let place = Place::new();
    let data = place.home().data();
    fs::create_dir_all(&data).expect("a folder");
    assert!(place.start().created, "an empty folder is as good as none");
    place.cluster.stop().expect("stops");

    for missing in ["PG_VERSION", "global/pg_control"] {
        let aside = place.home().path().join("aside");
        fs::rename(data.join(missing), &aside).expect("ours");
        for refused in [
            place.cluster.start().map(drop),
            Cluster::open(place.home().clone(), real_binaries(), small()).map(drop),
        ] {
            let error = refused.expect_err("no cluster");
            assert!(
                matches!(&error, Error::NotACluster { missing: found, .. } if *found == missing)
            );
            assert!(error.to_string().contains("nothing was changed"), "{error}");
        }
        fs::rename(&aside, data.join(missing)).expect("ours");
    }
    assert!(!place.start().created, "all files are still there");
}

#[test]
fn a_socket_that_somebody_unseen_answers_on_is_not_taken_over() {
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let socket_dir = place.cluster.status().expect("has a status").socket_dir;
    let unseen = UnixListener::bind(socket_dir.join(".s.PGSQL.5432")).expect("free");
    assert!(matches!(place.cluster.start(), Err(Error::RunsElsewhere { .. })));

    drop(unseen);
    let told = place.start().recovered;
    assert_eq!(told, ["removed the socket of a server that is gone"]);
}

#[test]
fn a_cluster_restored_by_root_is_given_to_the_servers_user() {
    if !Env::process_is_root() {
        return;
    }
    let place = Place::new();
    place.start();
    place.cluster.stop().expect("stops");
    let chown = Command::new("chown").args(["-R", "0:0"]).arg(place.home().data()).status();
    assert!(chown.expect("runs").success());
    let told = open(place.home()).start().expect("starts").recovered.join("; ");
    assert!(told.contains("gave the data directory to user"), "{told}");
}
