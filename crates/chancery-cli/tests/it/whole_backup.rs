//! ORC-6, OPS-10: the backup of everything, as the page for operators has it, of a database in which the README and the demo were done: it is
//! taken, restored elsewhere, and found whole.

use std::path::Path;
use std::process::{Command, Stdio};

use chancery_store::managed::{BinarySearch, Env, Home, find_binaries};

use crate::docs::{read, repository};
use crate::place::{Place, run_it};

/// The blocks of a document that are marked so.
fn marked(document: &str, mark: &str) -> String {
    let text = read(document);
    let begin = format!("<!-- test: {mark} -->\n```sh\n");
    let blocks = text.split(&begin).skip(1);
    let blocks: Vec<_> =
        blocks.map(|rest| rest.split_once("\n```").expect("a block ends").0).collect();
    assert!(!blocks.is_empty(), "{document} has no {mark}");
    blocks.join("\n")
}

fn bash(place: &Place, name: &str, script: &str) {
    let file = place.file(name, script);
    let home = Home::resolve(Some(place.path().to_owned()), &Env::default()).expect("a home");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let search = BinarySearch::on_this_machine(Some(&path), &home);
    let pg_dump = find_binaries(&search).expect("server binaries").command("pg_dump");
    let server = Path::new(pg_dump.get_program()).parent().expect("a folder").to_owned();
    let ours = Path::new(env!("CARGO_BIN_EXE_chancery")).parent().expect("a folder").to_owned();
    let path = std::env::join_paths([ours, server].into_iter().chain(std::env::split_paths(&path)))
        .expect("a path");
    let mut bash = Command::new("bash");
    for variable in ["DATABASE_URL", "CHANCERY_PRINCIPAL", "CHANCERY_WRITER_URL"] {
        bash.env_remove(variable);
    }
    bash.args(["-euo", "pipefail", &file]).current_dir(repository()).stdin(Stdio::null());
    run_it(bash.env("CHANCERY_HOME", place.path()).env("PATH", path)).ends_with(0);
}

#[test]
fn the_documented_backup_has_everything() {
    let place = Place::new();
    bash(&place, "walk.sh", &marked("README.md", "walk"));
    place.done(&["db", "start"]);
    place.done(&["demo", "--fill"]);
    // A table that nobody protects stands beside them.
    place.superuser("create schema shop; create table shop.till (n bigint generated always as identity, what text); insert into shop.till (what) values ('a')");
    let page = "docs/operate/README.md";
    let dump = place.path().join("chancery.dump");
    let dump = dump.to_str().expect("a plain path");
    bash(&place, "backup.sh", &marked(page, "backup").replace("chancery.dump", dump));
    let counted = "select (select count(*) from fsm.transition_log), (select count(*) from public.film), (select count(*) from birth.birth_registry),
                          (select count(*) from shop.till), (select count(*) from audit.rule_change)";
    let before = place.superuser(counted);
    place.done(&["db", "stop"]);

    let elsewhere = Place::new();
    let protect =
        "chancery birth protect public.film --code code --name-column title --enforce --as alice
chancery birth protect public.reader_card --code code --name-column holder --enforce --as lan
chancery doctor --fix";
    let restore = marked(page, "restore");
    assert!(restore.contains("chancery doctor --fix"), "{restore}");
    let restore = restore
        .replace("/srv/chancery-restored", elsewhere.path().to_str().expect("a plain path"))
        .replace("chancery.dump", dump)
        .replace("chancery doctor --fix", protect);
    bash(&elsewhere, "restore.sh", &restore);
    let after = elsewhere.superuser(counted);
    assert_eq!(after.rsplit_once('|').map(|it| it.0), before.rsplit_once('|').map(|it| it.0));
    assert_eq!(elsewhere.json(&["audit", "verify"])["ok"], true);
}
