//! What happened, proven to somebody who was not there.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::cutter::{approved, with_people};
use crate::place::{Place, Said, run_it};

/// The binary without a data directory, a database or a home: whoever has a bundle has nothing else.
fn elsewhere(args: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
    run_it(command.args(args).env_clear().env("HOME", "/nonexistent"))
}

/// AUD-1: nothing that fits is not shown as something that does.
#[test]
fn an_empty_database_is_not_said_to_fit() {
    let place = Place::with_database();
    let said = place.done(&["audit", "verify"]);
    assert!(!said.stdout.contains("fits"), "{said:?}");
}

/// AUD-1, CUT-10 and the row `audit` of the CLI.
#[test]
fn a_document_is_proven_to_somebody_who_was_not_there() {
    let place = with_people();
    let entry = approved(&place, "policy", "POL", "# One\n\nfirst\n\n# Two\n\nsecond\n");
    place.done(&["cutter", "cut", &entry, "--as", "executor"]);
    place.done(&["cutter", "verify", &entry, "--as", "verifier"]);
    let said = place.done(&["audit", "verify"]);
    assert!(said.stdout.starts_with("2 runs, 1 entries, 11 log rows, "), "{said:?}");
    assert!(said.stdout.ends_with(" signatures: everything fits\n"), "{said:?}");
    let bundle = place.path().join("policy.bundle");
    let bundle = bundle.to_str().expect("a plain path");
    let exported = place.json(&["audit", "export", "policy", "-o", bundle]);
    assert_eq!((&exported["ok"], &exported["entry_id"]), (&json!(true), &json!(entry)));
    let piped = place.done(&["audit", "export", &entry, "-o", "-"]);
    assert_eq!(piped.stdout.as_bytes(), fs::read(bundle).expect("a bundle"), "the same bytes");
    place.refused("RC001", &["audit", "export", "nothing", "-o", bundle]);
    it_holds_without_anything_else(&place, bundle);
    what_somebody_changed_is_named(&place, bundle);
}

fn it_holds_without_anything_else(place: &Place, bundle: &str) {
    let said = elsewhere(&["audit", "verify", "--bundle", bundle]).ends_with(0);
    assert!(said.stdout.contains(": everything fits\n"), "{said:?}");
    let keys = place.json(&["key", "export", "rita"]);
    let key = keys[0]["public_key"].as_str().expect("a key");
    let trust = format!("taken on trust from the bundle: rita signs with {key}");
    assert!(said.stderr.contains(&trust), "{said:?}");
    let pin = format!("rita={key}");
    let said = elsewhere(&["audit", "verify", "--bundle", bundle, "--key", &pin]).ends_with(0);
    assert!(!said.stderr.contains("rita") && said.stderr.contains("verifier"), "{said:?}");

    let file = place.file("trusted.keys", &format!("# from the letter of May\n{pin}\n\n"));
    elsewhere(&["audit", "verify", "--bundle", bundle, "--keys", &file]).ends_with(0);
    let others = place.json(&["key", "export", "alice"]);
    let wrong = format!("rita={}", others[0]["public_key"].as_str().expect("a key"));
    let said = elsewhere(&["audit", "verify", "--bundle", bundle, "--key", &wrong]).ends_with(1);
    assert!(said.stdout.contains("not a key that you trust for rita"), "{said:?}");
    // Under a key of small order one signature is good for every text.
    let weak = format!("rita=01{}", "0".repeat(62));
    for bad in ["rita", "rita=12", &weak] {
        elsewhere(&["audit", "verify", "--bundle", bundle, "--key", bad]).ends_with(2);
    }
    let file = place.file("bad.keys", "rita\n");
    let said = elsewhere(&["audit", "verify", "--bundle", bundle, "--keys", &file]).ends_with(2);
    assert!(said.stderr.contains("bad.keys:1: "), "{said:?}");
    elsewhere(&["audit", "verify", "--bundle", "/nonexistent"]).ends_with(1);
}

/// AUD-1: in a file and in the database.
fn what_somebody_changed_is_named(place: &Place, bundle: &str) {
    let text = fs::read_to_string(bundle).expect("a bundle").replacen("first", "fist!", 1);
    let forged = place.file("forged.bundle", &text);
    let said = elsewhere(&["audit", "verify", "--bundle", &forged, "--all"]).ends_with(1);
    assert!(said.stdout.contains("bundle_is_whole"), "{said:?}");
    assert!(said.stdout.contains("iu.unit_version"), "{said:?}");

    place.superuser(
        "alter table iu.unit_version disable trigger user;
         update iu.unit_version set body = '# One\n\nsomething else\n' where title = 'One';
         alter table iu.unit_version enable trigger user",
    );
    let said = place.run(&["audit", "verify"]).ends_with(1);
    assert!(said.stdout.contains("do not fit; the first:\n  iu.unit_version "), "{said:?}");
    assert!(said.stdout.contains("(digest_is_of_the_row)\n"), "{said:?}");
    let report = place.run(&["audit", "verify", "--json"]).ends_with(1).json();
    assert_eq!(report["ok"], false);
    assert_eq!(report["mismatches"][0]["table"], "iu.unit_version");
    let said = place.run(&["audit", "export", "policy", "-o", bundle]).ends_with(1);
    assert!(said.stderr.contains("does not hold together"), "{said:?}");
}
