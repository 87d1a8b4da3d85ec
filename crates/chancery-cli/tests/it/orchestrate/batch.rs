//! Many documents, each with its own run and its own approvals.

use std::collections::BTreeMap;

use serde_json::Value;

use super::scene::Scene;

const BATCH: &str = "01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd";

fn queue(scene: &Scene, documents: &[&str]) -> String {
    let items: String = documents.iter().map(|d| format!("  - document_id: {d}\n")).collect();
    scene
        .place
        .file("queue.yaml", &format!("schema_version: 1\nbatch_id: {BATCH}\nitems:\n{items}"))
}

fn states(said: &Value) -> BTreeMap<String, (String, String)> {
    let text = |line: &Value, key: &str| line[key].as_str().expect("text").to_owned();
    let lines = said.as_array().expect("lines");
    lines
        .iter()
        .map(|line| (text(line, "document_id"), (text(line, "state"), text(line, "run_id"))))
        .collect()
}

/// Issue 4, part 8: planning in parallel, writes one after another, and a failed one does not stop the others unless asked.
#[test]
fn a_batch_takes_each_document_as_far_as_its_own_approvals() {
    let scene = Scene::new();
    for document in ["one", "two", "three"] {
        scene.document(document, 3);
    }
    let file = queue(&scene, &["one", "nowhere", "two", "three"]);
    let batch = |more: &[&str]| {
        scene.orchestrate(
            &[&["batch", "--queue", &file, "--as", "executor", "--json"], more].concat(),
        )
    };
    let first = states(&batch(&[]).ends_with(1).json());
    assert_eq!(first["nowhere"].0, "not begun");
    for document in ["one", "two", "three"] {
        assert_eq!(first[document].0, "awaiting_cut_authorization", "{document}");
    }
    // Again: the same runs, and nothing that nobody approved.
    let again = states(&batch(&[]).ends_with(1).json());
    assert_eq!(first, again);
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");

    // Authority is never batched: one approval takes one document on.
    scene.approved(&first["two"].1);
    let next = states(&batch(&[]).ends_with(1).json());
    assert_eq!(next["two"].0, "awaiting_lifecycle_authorization");
    assert_eq!(next["one"].0, "awaiting_cut_authorization");
    for document in ["one", "two", "three"] {
        scene.approved(&first[document].1);
    }
    let next = states(&batch(&[]).ends_with(1).json());
    assert_eq!(next["two"].0, "closeout_reported");
    assert_eq!(next["three"].0, "awaiting_lifecycle_authorization");
    for document in ["one", "three"] {
        scene.approved(&first[document].1);
    }
    let last = states(&batch(&[]).ends_with(1).json());
    for document in ["one", "two", "three"] {
        assert_eq!(last[document], ("closeout_reported".to_owned(), first[document].1.clone()));
    }
    assert_eq!(
        scene.one("select count(*) from iu.information_unit where lifecycle_status = 'enacted'"),
        "9"
    );

    // Without the document that is not there, the batch is done.
    queue(&scene, &["one", "two", "three"]);
    let roster = scene.place.path().join("runs").join(format!("batch-{BATCH}.json"));
    let text = std::fs::read_to_string(&roster).expect("a roster");
    let mut known: Value = serde_json::from_str(&text).expect("JSON");
    known["runs"].as_object_mut().expect("runs").shift_remove("nowhere");
    std::fs::write(&roster, known.to_string()).expect("a roster");
    batch(&[]).ends_with(0);
}

#[test]
fn a_batch_stops_at_the_first_failure_when_asked_and_refuses_a_bad_queue() {
    let scene = Scene::new();
    scene.document("one", 3);
    let file = queue(&scene, &["nowhere", "one"]);
    let args = [
        "batch",
        "--queue",
        &file,
        "--stop-on-first-failure",
        "--max-concurrent",
        "1",
        "--as",
        "executor",
        "--json",
    ];
    let said = states(&scene.orchestrate(&args).ends_with(1).json());
    assert_eq!(said["one"].0, "not begun");
    for text in [
        "schema_version: 2\nbatch_id: 01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd\nitems: [{document_id: one}]\n".to_owned(),
        "schema_version: 1\nbatch_id: 01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd\nitems: []\n".to_owned(),
        "schema_version: 1\nbatch_id: x\nitems: [{document_id: one}]\n".to_owned(),
        "schema_version: 1\nbatch_id: 01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd\nitems: [{document_id: one}, {document_id: one}]\n".to_owned(),
        "schema_version: 1\nbatch_id: 01a1e00f-be00-71b2-9d7d-4f2b9ded7ebd\nsecret: x\nitems: [{document_id: one}]\n".to_owned(),
        format!(
            "schema_version: 1\nbatch_id: {BATCH}\nitems:\n{}",
            (0..101).map(|n| format!("  - document_id: d{n}\n")).collect::<String>()
        ),
    ] {
        let file = scene.place.file("bad.yaml", &text);
        let said = scene.orchestrate(&["batch", "--queue", &file, "--as", "executor"]).ends_with(1);
        assert!(said.stderr.contains("STOP_REFUSED_INPUT"), "{text}: {said:?}");
    }
}
