//! What the cutter is told and says: words that must not be lost, and what would be refused later, said at once.

use serde_json::{Value, json};

use crate::cutter::{approved, with_people};
use crate::place::Place;

const TEXT: &str = "# One\n\nFirst.\n\n# Two\n\nSecond.\n\n# Three\n\nThird.\n";

fn set(place: &Place, key: &str, value: &str) {
    place.superuser(&format!("alter table config.dot_config disable trigger user; update config.dot_config set value = '{value}' where key = '{key}'; alter table config.dot_config enable trigger user"));
}

fn problem(refused: &Value) -> Value {
    refused["problems"][0].clone()
}

/// CUT-1, IU-1: what a review would refuse is refused when a document is added and when it is marked, with nothing stored.
#[test]
fn a_cut_that_would_be_refused_is_refused_at_once() {
    let place = with_people();
    let file = place.file("policy.md", TEXT);
    let add = ["doc", "add", &file, "--id", "policy", "--prefix", "PP", "--as", "alice"];
    set(&place, "cutter.manifest.max_units", "2");
    let before = place.fingerprint();
    let refused = problem(&place.refused("RC022", &add));
    assert_eq!(
        (&refused["check"], &refused["found"], &refused["needed"]),
        (&json!("unit_limit"), &json!(3), &json!(2))
    );
    assert!(refused["way"].as_str().is_some_and(|way| way.contains("cutter.manifest.max_units")));
    assert_eq!(before, place.fingerprint(), "nothing is stored");

    set(&place, "cutter.manifest.max_units", "20000");
    place.done(&add);
    set(&place, "cutter.manifest.max_units", "2");
    let before = place.fingerprint();
    assert_eq!(place.json(&add)["replayed"], true, "what is stored is stored");
    let mark = ["cutter", "mark", "policy", "--as", "alice"];
    assert_eq!(problem(&place.refused("RC022", &mark))["check"], "unit_limit");
    assert_eq!(before, place.fingerprint(), "nothing is marked");
    set(&place, "cutter.manifest.max_units", "20000");
    let before = place.fingerprint();
    let unknown = [&mark[..], &["--unit-kind", "law_units"]].concat();
    let refused = problem(&place.refused("RC022", &unknown));
    assert_eq!(
        (&refused["check"], &refused["found"]),
        (&json!("vocabulary"), &json!(["unit_kind.law_units"]))
    );
    assert_eq!(before, place.fingerprint(), "nothing is marked");

    // The scenario that it belongs to is kept with the entry.
    let entry = place.done(&[&mark[..], &["--scenario", "dieu44"]].concat()).stdout;
    let kept = format!(
        "select scenario_ref from cutter_governance.decision_backlog_entry where entry_id = '{}'",
        entry.trim()
    );
    assert_eq!(place.superuser(&kept).trim(), "dieu44");
}

/// CUT-4, seed A §5: an identical review is a no-op; one that says something else is not taken for it, so that no word is lost.
#[test]
fn a_review_does_not_lose_its_rationale() {
    let place = with_people();
    let entry = approved(&place, "policy", "PP", TEXT);
    let approve = ["cutter", "review", &entry, "--approve", "--as", "rita"];
    assert_eq!(place.json(&approve)["replayed"], true);
    let before = place.fingerprint();
    for (more, differs) in
        [(["--rationale", "read in full"], "rationale"), (["--risk", "high"], "risk")]
    {
        let refused = problem(&place.refused("RC023", &[&approve[..], &more].concat()));
        assert_eq!(
            (&refused["differs_in"], &refused["entry_id"]),
            (&json!([differs]), &json!(entry))
        );
    }
    assert_eq!(before, place.fingerprint(), "a refusal changes nothing");
    let said =
        place.run(&["cutter", "review", &entry, "--preview", "--rationale", "x"]).ends_with(2);
    assert!(said.stderr.contains("--rationale"), "{said:?}");

    // Deferred and decided again, the words are stored, shown and part of what is signed.
    place.done(&["cutter", "review", &entry, "--defer", "--as", "rita"]);
    place.done(&["cutter", "sweep", "--as", "executor"]);
    let with_words = [&approve[..], &["--rationale", "read in full"]].concat();
    place.done(&with_words);
    assert_eq!(place.json(&with_words)["replayed"], true, "the same again");
    assert!(place.done(&["cutter", "show", &entry]).stdout.contains("read in full"));
    let signed = place.superuser("select count(*) from cutter_governance.review_decision where verdict_rationale = 'read in full' and decision_payload::jsonb ->> 'rationale' = 'read in full'");
    assert_eq!(signed.trim(), "1");
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

/// CUT-3: a key that stands for something else names it, and what is asked for otherwise.
#[test]
fn a_taken_key_names_what_it_stands_for() {
    let place = with_people();
    let entry = approved(&place, "policy", "PP", TEXT);
    let other = place.file("other.md", "# Other\n");
    place.done(&["doc", "add", &other, "--id", "other", "--prefix", "OO", "--as", "alice"]);
    let first = place.done(&["cutter", "mark", "other", "--key", "mine", "--as", "alice"]).stdout;
    let refused = problem(
        &place.refused("RC015", &["cutter", "mark", "policy", "--key", "mine", "--as", "alice"]),
    );
    assert_eq!(
        (&refused["stands_for"], &refused["document_id"]),
        (&json!(first.trim()), &json!("other"))
    );
    assert_eq!((&refused["status"], &refused["marked_by"]), (&json!("marked"), &json!("alice")));
    assert_eq!(refused["differs_in"], json!(["payload"]));
    assert_eq!(refused["way"], format!("chancery cutter show {}", first.trim()));
    assert_ne!(entry, first.trim());
}

/// IU-1: before a cut, `doc units` says what there is to do next: mark, or go on with the request that was made.
#[test]
fn units_before_a_cut_lead_on() {
    let place = with_people();
    let file = place.file("policy.md", TEXT);
    place.done(&["doc", "add", &file, "--id", "policy", "--prefix", "PP", "--as", "alice"]);
    let advice = || place.done(&["doc", "units", "policy"]).stderr;
    assert!(advice().contains("chancery cutter mark policy --version 1"));
    let entry = place.done(&["cutter", "mark", "policy", "--as", "alice"]).stdout;
    let said = advice();
    assert!(
        said.contains("its request is marked")
            && said.contains(&format!("chancery cutter show {}", entry.trim())),
        "{said}"
    );
}

/// IU-1: a text whose lines end with CR alone is cut like any other, and each unit stands on its own lines.
#[test]
fn lines_that_end_with_cr_alone_are_lines() {
    let place = with_people();
    let legal = "Điều 1. Phạm vi\nNội dung một.\nĐiều 2. Hiệu lực\nNội dung hai.\n";
    for (id, prefix, text) in [("markdown", "MD", TEXT), ("legal", "LG", legal)] {
        let text = text.replace('\n', "\r");
        let entry = approved(&place, id, prefix, &text);
        place.done(&["cutter", "cut", &entry, "--as", "executor"]);
        place.done(&["cutter", "verify", &entry, "--as", "verifier"]);
        assert_eq!(place.done(&["doc", "cat", id]).stdout, text, "byte for byte");
        let units = place.json(&["doc", "units", id]);
        let units = units.as_array().expect("units").clone();
        let count = text.matches('\r').count();
        let mut next = json!(1);
        for unit in &units {
            assert_eq!(unit["lines"][0], next, "{id}: {units:?}");
            next = json!(unit["lines"][1].as_u64().expect("a line") + 1);
        }
        assert!(units.len() > 1 && next == json!(count + 1), "{id}: {units:?}");
    }
}
