//! The knowledge base on the command line.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::place::Place;

const ODD: &str = "# Tiêu đề\r\n\n“đúng” 𝔸 \u{2028}\n\nno newline at the end";

fn with_people() -> Place {
    Place::prepared("kb", |place| {
        for (name, kind, class) in [
            ("alice", "human", "pic_human"),
            ("carol", "human", "sovereign"),
            ("verifier", "service", "verifier_dot992"),
        ] {
            place.done(&["principal", "add", name, "--kind", kind, "--class", class]);
            place.done(&["key", "new", name]);
        }
    })
}

/// KB-1 and the row `kb` of the CLI: written, read, signed, verified, exported, imported elsewhere, exported again.
#[test]
fn documents_are_kept_signed_and_carried_to_another_installation() {
    let (here, there) = (with_people(), with_people());
    documents_are_written_and_read(&here);
    they_are_signed(&here);
    they_are_verified(&here);
    they_are_carried_over(&here, &there);
    for place in [&here, &there] {
        assert_eq!(place.json(&["audit", "verify"])["ok"], true);
    }
    a_text_that_was_exchanged_is_named(&here);
}

fn documents_are_written_and_read(place: &Place) {
    let file = place.file("start.md", ODD);
    let put = ["kb", "put", "handbook/start", &file, "--as", "alice"];
    let said = place.done(&put);
    assert_eq!(said.stdout, "1\n", "{said:?}");
    assert_eq!(place.json(&put)["replayed"], true);
    assert_eq!(place.done(&["kb", "get", "handbook/start"]).stdout, ODD);
    let next = ["kb", "put", "handbook/start", "-", "--expect", "1", "--as", "alice", "--json"];
    assert_eq!(place.fed(b"second\n", &next).ends_with(0).json()["revision"], 2);
    let said = place.fed(b"third\n", &next).ends_with(3);
    assert_eq!(said.json()["refused"]["code"], "RA021");
    let report = ["kb", "put", "reports/look", "-", "--kind", "report", "--as", "verifier"];
    place.fed(b"looked\n", &report).ends_with(0);
    assert_eq!(place.done(&["kb", "get", "handbook/start"]).stdout, "second\n");
    assert_eq!(place.done(&["kb", "get", "handbook/start", "--revision", "1"]).stdout, ODD);
    let got = place.json(&["kb", "get", "handbook/start", "--revision", "1"]);
    assert_eq!((&got["body"], &got["author"]), (&json!(ODD), &json!("alice")));

    let before = place.fingerprint();
    place.refused("RA020", &["kb", "put", "Handbook", &file, "--as", "alice"]);
    place.refused("RA020", &["kb", "put", "../out", &file, "--as", "alice"]);
    place.refused("RA020", &["kb", "put", "handbook/start/1.md", &file, "--as", "alice"]);
    let said =
        place.fed(b"\xff", &["kb", "put", "bytes", "-", "--as", "alice", "--json"]).ends_with(3);
    assert_eq!(said.json()["refused"]["problems"][0]["reason"], "not_utf8");
    place.fed(b"", &["kb", "put", "empty", "-", "--as", "alice"]).ends_with(3);
    place.run(&["kb", "put", "x", "no/such/file", "--as", "alice"]).ends_with(1);
    let said = place.run(&["kb", "get", "handbook/none"]).ends_with(1);
    assert!(said.stderr.contains("chancery kb list"), "{said:?}");
    place.run(&["kb", "get", "handbook/start", "--revision", "9"]).ends_with(1);
    assert_eq!(place.fingerprint(), before);
    let listed = place.json(&["kb", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    let listed = place.done(&["kb", "list", "handbook"]).stdout;
    assert!(listed.contains("handbook/start") && !listed.contains("reports"), "{listed}");
}

fn they_are_signed(place: &Place) {
    let sign =
        ["kb", "sign", "handbook/start", "--revision", "1", "--meaning", "đã đọc", "--as", "carol"];
    assert_eq!(place.done(&sign).stdout, "1\n");
    assert_eq!(place.json(&sign)["replayed"], true);
    let said = place.done(&["kb", "sign", "handbook/start", "--as", "verifier"]);
    assert!(said.stderr.contains("signed by verifier: approved"), "{said:?}");
    place.refused("RA022", &["kb", "sign", "handbook/none", "--as", "carol"]);
    place.refused("RA022", &["kb", "sign", "handbook/start", "--meaning", " ", "--as", "carol"]);
}

fn they_are_verified(place: &Place) {
    assert_eq!(place.done(&["kb", "verify"]).stdout, "3 revisions and 2 signatures fit\n");
    let one = place.json(&["kb", "verify", "reports/look"]);
    assert_eq!((&one["ok"], &one["revisions"]), (&json!(true), &json!(1)));
    place.run(&["kb", "verify", "handbook"]).ends_with(1);
}

fn read(folder: &Path, file: &str) -> Vec<u8> {
    fs::read(folder.join(file)).expect("an exported file")
}

fn they_are_carried_over(here: &Place, there: &Place) {
    let (first, second) = (here.path().join("export"), there.path().join("export"));
    let folder = first.to_str().expect("a plain path");
    let said = here.done(&["kb", "export", folder]);
    assert_eq!(said.stdout, "2 documents in 3 revisions, 8 files written\n");
    assert_eq!(here.json(&["kb", "export", folder])["written"], 0);
    let imported = there.json(&["kb", "import", folder, "--as", "alice"]);
    assert_eq!((&imported["written"], &imported["differences"]), (&json!(3), &json!([])));
    let again = there.done(&["kb", "import", folder, "--as", "alice"]).stdout;
    assert_eq!(again, "3 revisions in the folder: 0 written, 3 there already, 0 differences\n");
    let said = there.done(&["kb", "export", second.to_str().expect("a plain path")]);
    assert!(said.stdout.starts_with("2 documents"), "{said:?}");
    for file in [
        "handbook/start.md",
        "reports/look.md",
        ".history/handbook/start/1.md",
        ".history/handbook/start/2.md",
        ".history/reports/look/1.md",
    ] {
        assert_eq!(read(&first, file), read(&second, file), "{file}");
    }
    let kept = String::from_utf8(read(&first, ".history/handbook/start/1.json")).expect("text");
    assert!(kept.contains("\"carol\"") && kept.contains("public_key"), "{kept}");

    // What was changed in the folder is told, not taken and not written over.
    fs::write(first.join("reports/look.md"), "edited\n").expect("a file");
    let said = there.run(&["kb", "import", folder, "--as", "alice"]).ends_with(1);
    assert!(said.stdout.contains("reports/look: it was changed"), "{said:?}");
    let said = here.run(&["kb", "export", folder]).ends_with(1);
    assert!(said.stderr.contains("reports/look.md"), "{said:?}");
    let said = there.run(&["kb", "import", "no/such/folder", "--as", "alice"]).ends_with(1);
    assert!(said.stderr.contains("no/such/folder"), "{said:?}");
}

fn a_text_that_was_exchanged_is_named(place: &Place) {
    place.superuser(
        "alter table kb.revision disable trigger all;
         update kb.revision set body = 'forged', sha256 = sha256('forged') where path = 'handbook/start' and revision = 1;",
    );
    let said = place.run(&["kb", "verify"]).ends_with(1);
    assert!(said.stdout.starts_with("kb.revision handbook/start/1: "), "{said:?}");
    let found = place.run(&["kb", "verify", "handbook/start", "--json"]).ends_with(1).json();
    assert_eq!((&found["ok"], &found["first"]["key"]), (&json!(false), &json!("handbook/start/1")));
    assert_eq!(place.json(&["kb", "verify", "reports/look"])["ok"], true);
    assert_eq!(place.run(&["audit", "verify", "--json"]).ends_with(1).json()["ok"], false);
}
