//! From a document to verified units, and what happens when something does not fit.

use serde_json::{Value, json};

use crate::place::Place;

const REGULATION: &str = include_str!("../../../../examples/documents/quy-che-luu-tru.txt");
const POLICY: &str = include_str!("../../../../examples/documents/records-policy.md");

/// Everybody that a cut needs, each with a key. `both` may cut and verify, and must not do both.
pub(crate) fn with_people() -> Place {
    Place::prepared("cutter", |place| {
        for (name, kind, classes) in [
            ("alice", "human", "pic_human"),
            ("rita", "human", "review_authority"),
            ("carol", "human", "sovereign"),
            ("executor", "service", "executor_dot991"),
            ("verifier", "service", "verifier_dot992"),
            ("both", "service", "executor_dot991,verifier_dot992"),
        ] {
            place.done(&["principal", "add", name, "--kind", kind, "--class", classes]);
            place.done(&["key", "new", name]);
        }
    })
}

/// Adds, marks, sweeps and approves a document; gives its request.
pub(crate) fn approved(place: &Place, id: &str, prefix: &str, text: &str) -> String {
    let file = place.file(&format!("{id}.md"), text);
    place.done(&["doc", "add", &file, "--id", id, "--prefix", prefix, "--as", "alice"]);
    let entry = place.done(&["cutter", "mark", id, "--as", "alice"]).stdout.trim_end().to_owned();
    place.done(&["cutter", "sweep", "--as", "executor"]);
    place.done(&["cutter", "review", &entry, "--approve", "--as", "rita"]);
    entry
}

pub(crate) fn status(place: &Place, entry: &str) -> Value {
    place.json(&["cutter", "show", entry])["entry"]["status"].clone()
}

/// IU-1, IU-2, CUT-1, CUT-2, CUT-3, CUT-4 and the rows `doc`, `cutter` of the CLI.
#[test]
fn a_document_becomes_verified_units() {
    let place = with_people();
    a_document_is_stored_once(&place);
    let entry = a_request_is_marked_once(&place);
    a_plan_is_looked_at_and_approved(&place, &entry);
    it_is_cut_once_and_verified(&place, &entry);
    the_units_are_the_document(&place);
    a_second_document_is_deferred_then_rejected_or_abandoned(&place);
    assert_eq!(place.json(&["audit", "verify"])["ok"], true);
}

fn a_document_is_stored_once(place: &Place) {
    let file = place.file("quy-che.txt", REGULATION);
    let add = ["doc", "add", &file, "--id", "quy-che", "--prefix", "QC-LT", "--as", "alice"];
    let said = place.done(&add);
    assert!(said.stderr.contains("next: chancery cutter mark quy-che\n"), "{said:?}");
    let again = place.json(&add);
    assert_eq!((&again["replayed"], &again["version_seq"]), (&json!(true), &json!(1)));
    assert_eq!(
        (&again["profile"], &again["media_type"]),
        (&json!("legal-vi"), &json!("text/plain"))
    );
    // From a pipe, and without the prefix that is known by now.
    let piped = ["doc", "add", "-", "--id", "quy-che", "--as", "alice", "--json"];
    let piped = place.fed(REGULATION.as_bytes(), &piped).ends_with(0).json();
    assert_eq!((&piped["replayed"], &piped["units"]), (&json!(true), &again["units"]));

    let listed = place.json(&["doc", "list"]);
    assert_eq!((&listed[0]["prefix"], &listed[0]["units"]), (&json!("QC-LT"), &json!(0)));
    // It has not been cut yet: the source is there, units are not.
    let said = place.run(&["doc", "cat", "quy-che"]).ends_with(1);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("chancery doc cat quy-che --source"), "{said:?}");
    assert_eq!(place.done(&["doc", "cat", "quy-che", "--source"]).stdout, REGULATION);
    assert_eq!(place.json(&["doc", "units", "quy-che"]), json!([]));
}

fn a_request_is_marked_once(place: &Place) -> String {
    let said = place.done(&["cutter", "mark", "quy-che", "--as", "alice"]);
    let entry = said.stdout.trim_end().to_owned();
    let again = place.json(&["cutter", "mark", "quy-che", "--as", "alice"]);
    assert_eq!((&again["entry_id"], &again["replayed"]), (&json!(entry), &json!(true)));
    assert_eq!(place.done(&["cutter", "sweep", "--as", "executor"]).stdout, format!("{entry}\n"));
    let again = place.done(&["cutter", "sweep", "--as", "executor"]);
    assert_eq!(again.stdout, "", "{again:?}");
    assert_eq!(status(place, "quy-che"), "review_pending");
    entry
}

fn a_plan_is_looked_at_and_approved(place: &Place, entry: &str) {
    let before = place.fingerprint();
    let plan = place.json(&["cutter", "review", entry, "--preview"]);
    let units = plan["units"].as_array().expect("units");
    let addresses: Vec<&str> = units.iter().filter_map(|unit| unit["address"].as_str()).collect();
    assert!(addresses.contains(&"QC-LT/dieu.3-khoan.1-diem.b"), "{addresses:?}");
    assert_eq!(units[0]["lines"], json!([1, 7]), "what stands before the first chapter");
    assert!(units.iter().all(|unit| unit["sha256"].as_str().is_some_and(|sha| sha.len() == 64)));
    let digest = plan["manifest_digest"].as_str().expect("a digest").to_owned();
    let shown = place.done(&["cutter", "review", "quy-che", "--preview"]).stdout;
    assert!(shown.contains(&digest) && shown.contains("QC-LT/dieu.5-khoan.2"), "{shown}");
    assert_eq!(place.fingerprint(), before, "a preview changes nothing");

    let approve = ["cutter", "review", entry, "--approve", "--rationale", "read", "--as", "rita"];
    let with = |digest| [&approve[..], &["--manifest", digest]].concat();
    let other = "0".repeat(64);
    let refused = place.refused("RC006", &with(&other));
    assert_eq!(refused["problems"][0]["found"], digest);
    assert_eq!(place.fingerprint(), before, "a decision on another plan changes nothing");
    assert_eq!(place.done(&with(&digest)).stdout, "reviewed_approved\n");
    assert_eq!(place.json(&approve)["replayed"], true);
    let shown = place.json(&["cutter", "show", entry]);
    assert_eq!(shown["decisions"][0]["reviewer"], "rita");
    let ways: Vec<&Value> =
        shown["ways_on"].as_array().expect("ways").iter().map(|way| &way["label"]).collect();
    assert!(ways.contains(&&json!("cut")), "{ways:?}");
}

fn it_is_cut_once_and_verified(place: &Place, entry: &str) {
    // The program `cutter` and the document's name mean the same.
    let said = place.cutter(&["cut", "quy-che", "--as", "executor"]).ends_with(0);
    assert_eq!(said.stdout, "cut_applied\n", "{said:?}");
    let before = place.fingerprint();
    let again = place.json(&["cutter", "cut", entry, "--as", "executor"]);
    assert_eq!((&again["replayed"], &again["status"]), (&json!(true), &json!("cut_applied")));
    assert_eq!(place.fingerprint(), before, "cut twice is cut once");

    let said = place.done(&["cutter", "verify", "quy-che", "--as", "verifier"]);
    assert_eq!(said.stdout, "verified_complete\n", "{said:?}");
    let shown = place.json(&["cutter", "show", "quy-che"]);
    let phases: Vec<&Value> =
        shown["history"].as_array().expect("moves").iter().map(|row| &row["change_kind"]).collect();
    assert_eq!(phases, ["mark", "sweep_promote", "review:approve", "cut", "verify:pass"]);
    assert_eq!(shown["verify_results"][0]["findings"]["findings"], json!([]));
    let shown = place.done(&["cutter", "show", "quy-che"]).stdout;
    for word in ["DOT-991", "DOT-992", "decision, move", "G-VERIFY-SOD", "verified_complete"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert_eq!(
        place.json(&["cutter", "list", "--status", "verified_complete"])[0]["entry_id"],
        entry
    );
    assert_eq!(place.json(&["cutter", "list", "--document", "other"]), json!([]));
}

fn the_units_are_the_document(place: &Place) {
    assert_eq!(place.done(&["doc", "cat", "quy-che"]).stdout, REGULATION);
    let catted = place.json(&["doc", "cat", "quy-che"]);
    assert_eq!((&catted["is_source"], &catted["from"]), (&json!(true), &json!("units")));
    let units = place.json(&["doc", "units", "quy-che"]);
    let first = &units[0];
    assert_eq!((&first["address"], &first["lines"]), (&json!("QC-LT/preamble"), &json!([1, 7])));
    assert_eq!(first["lifecycle_status"], "draft");
    assert!(place.done(&["doc", "units", "quy-che"]).stdout.contains("Điều 1. Phạm vi"));

    // A new version is stored beside it; what was cut stays.
    let file = place.file("quy-che.txt", &REGULATION.replace("hai năm", "ba năm"));
    let added = place.json(&["doc", "add", &file, "--id", "quy-che", "--as", "alice"]);
    assert_eq!((&added["version_seq"], &added["replayed"]), (&json!(2), &json!(false)));
    assert_eq!(place.done(&["doc", "cat", "quy-che"]).stdout, REGULATION);
    place.run(&["doc", "cat", "quy-che", "--version", "2"]).ends_with(1);
    assert_eq!(place.done(&["doc", "cat", "quy-che", "--version", "1"]).stdout, REGULATION);
    let source = place.done(&["doc", "cat", "quy-che", "--source"]).stdout;
    assert!(source.contains("ba năm"), "the newest source: {source}");
    let said = place.run(&["doc", "cat", "quy-che", "--version", "3"]).ends_with(1);
    assert!(said.stderr.contains("the newest is 2"), "{said:?}");
}

fn a_second_document_is_deferred_then_rejected_or_abandoned(place: &Place) {
    let file = place.file("policy.md", POLICY);
    place.done(&["doc", "add", &file, "--id", "policy", "--prefix", "RP", "--as", "alice"]);
    place.done(&["cutter", "mark", "policy", "--as", "alice"]);
    place.done(&["cutter", "sweep", "--as", "executor", "--limit", "5"]);
    let decide = |verdict| {
        let args = ["cutter", "review", "policy", verdict, "--risk", "high", "--as", "rita"];
        place.done(&args).stdout
    };
    assert_eq!(decide("--defer"), "reviewed_deferred\n");
    place.done(&["cutter", "sweep", "--as", "executor"]);
    assert_eq!(decide("--reject"), "reviewed_rejected\n");

    // A new attempt is a new request, and the sovereign can end it.
    let said = place.done(&["cutter", "mark", "policy", "--as", "alice"]);
    assert!(said.stderr.contains("name the new entry with --key"), "{said:?}");
    place.done(&["cutter", "mark", "policy", "--key", "again", "--as", "alice"]);
    let gone = ["cutter", "abandon", "policy", "--reason", "withdrawn", "--as", "carol"];
    assert_eq!(place.done(&gone).stdout, "abandoned\n");
    // Two requests, both at their end: which one is meant?
    let said = place.run(&["cutter", "show", "policy"]).ends_with(2);
    assert!(said.stderr.contains("policy has 2 entries, none of them open"), "{said:?}");
    assert!(said.stderr.contains("  reviewed_rejected\n"), "{said:?}");
}

/// CUT-7: a tampered unit is found; the cut is taken back and somebody is told.
#[test]
fn a_cut_that_does_not_fit_is_taken_back_and_escalated() {
    let place = with_people();
    let entry = approved(&place, "policy", "RP", POLICY);
    place.done(&["cutter", "cut", &entry, "--as", "executor"]);
    place.superuser(
        "alter table iu.unit_version disable trigger user;
         update iu.unit_version set body = replace(body, 'two people', 'one person');
         alter table iu.unit_version enable trigger user",
    );
    let said = place.run(&["cutter", "verify", &entry, "--as", "verifier"]).ends_with(1);
    assert!(said.stdout.starts_with("verify_failed_escalated\n"), "{said:?}");
    assert!(said.stdout.contains("RP/records_policy-destroying"), "{said:?}");
    assert!(said.stderr.contains("escalated to "), "{said:?}");

    let shown = place.json(&["cutter", "show", &entry]);
    assert_eq!(shown["change_sets"][1]["change_kind"], "compensate");
    assert_eq!(shown["verify_results"][0]["verdict"], "fail");
    let escalation = shown["escalations"][0].as_str().expect("an escalation");
    // The open one is meant now.
    assert_eq!(place.json(&["cutter", "show", "policy"])["entry"]["entry_id"], escalation);
    assert!(place.done(&["cutter", "show", &entry]).stdout.contains("FINDING"));
    // To cut it once more would be to say that it stands.
    let before = place.fingerprint();
    let refused = place.refused("RC021", &["cutter", "cut", &entry, "--as", "executor"]);
    assert_eq!(refused["problems"][0]["change_set_id"], shown["change_sets"][0]["change_set_id"]);
    assert_eq!(before, place.fingerprint(), "a refusal writes nothing");
    place.run(&["doc", "cat", "policy"]).ends_with(1);
}
