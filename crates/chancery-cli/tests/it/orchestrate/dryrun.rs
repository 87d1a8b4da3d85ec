//! A dry run goes through everything, stops at the same gates, and leaves the database as it was.

use std::fs;

use serde_json::{Value, json};

use super::scene::Scene;

/// Everything in the database as a dump has it, but for the values of sequences and the words that change with every dump.
fn dump(scene: &Scene) -> String {
    let status = scene.place.json(&["db", "status"]);
    let text = |key: &str| status[key].as_str().expect("a path").to_owned();
    let password = fs::read_to_string(scene.place.path().join("secrets/chancery_admin.password"))
        .expect("a password");
    let output = std::process::Command::new(format!("{}/pg_dump", text("bin_dir")))
        .args(["-U", "chancery_admin", "-h", &text("socket_dir"), "chancery"])
        .env("PGPASSWORD", password.trim())
        .output()
        .expect("pg_dump runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let varies = ["\\restrict", "\\unrestrict", "SELECT pg_catalog.setval("];
    text.lines()
        .filter(|line| !varies.iter().any(|word| line.starts_with(word)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Issue 4: "A dry run leaves the database as it was". ORC-2, ORC-4.
#[test]
fn a_dry_run_leaves_the_database_as_it_was() {
    let scene = Scene::new();
    scene.document("law", 65);
    let before = dump(&scene);
    let said = scene
        .orchestrate(&["start", "law", "--mode", "dryrun", "--as", "executor", "--json"])
        .ends_with(4);
    let run = said.json()["run_id"].as_str().expect("a run").to_owned();
    assert_eq!(scene.sidecar(&run)["mode"], "dryrun");
    assert_eq!(scene.sidecar(&run)["state"], "awaiting_cut_authorization");
    assert!(dump(&scene) == before, "the first half wrote something");

    // The same gates: nothing goes on without the sovereign's signature on exactly what is asked.
    scene.resume(&run, None).ends_with(4);
    scene.resume(&run, Some("sg1-cut-authz-approval.md")).ends_with(3);
    let approval = scene.approved(&run);
    refuses_what_differs(&scene, &run, &approval);
    scene.resume(&run, Some(&approval)).ends_with(4);
    assert_eq!(scene.sidecar(&run)["state"], "awaiting_lifecycle_authorization");
    scene.resume(&run, Some("sg1-cut-authz-approval.md")).ends_with(3);
    let approval = scene.approved(&run);
    scene.resume(&run, Some(&approval)).ends_with(0);
    let sidecar = scene.sidecar(&run);
    assert_eq!(sidecar["state"], "closeout_reported");
    let phases = sidecar["phases"].as_object().expect("phases");
    assert_eq!(phases.len(), 13);
    for (name, phase) in phases {
        assert_eq!(phase["result"], "passed", "{name}");
        assert!(
            phase["gate_invariants"]
                .as_object()
                .is_some_and(|all| all.values().all(|v| *v == json!(true))),
            "{name}"
        );
    }
    scene.resume(&run, None).ends_with(0);
    assert!(dump(&scene) == before, "the dry run wrote something");
    assert_eq!(scene.one("select count(*) from orchestrator.run"), "0");

    // What was rehearsed is what a live run does.
    let live = scene.started("law");
    let pins = scene.sidecar(&live)["context_pins"].clone();
    for pin in ["writer_digest", "manifest_digest", "region_sha", "section_types"] {
        assert_eq!(pins[pin], sidecar["context_pins"][pin], "{pin}");
    }
}

/// Each bound field changed in the file, with a signature that is good for the changed text: refused, naming the field.
fn refuses_what_differs(scene: &Scene, run: &str, approval: &str) {
    let file = scene.folder(run).join(approval);
    let good = fs::read_to_string(&file).expect("an approval");
    let begin = good.find("```json\n").expect("facts") + 8;
    let end = begin + good[begin..].find("\n```").expect("facts");
    let facts: Value = serde_json::from_str(&good[begin..end]).expect("JSON");
    for field in facts.as_object().expect("an object").keys() {
        let mut other = facts.clone();
        other[field] = json!("something else");
        fs::write(&file, format!("{}{other:#}{}", &good[..begin], &good[end..])).expect("a file");
        let said = scene.resume(run, Some(approval)).ends_with(3);
        assert!(said.stderr.contains(&format!("differs in {field}")), "{field}: {said:?}");
    }
    // A text that says the same and was not signed.
    fs::write(&file, good.replace("and nothing else", "and more")).expect("a file");
    let said = scene.resume(run, Some(approval)).ends_with(3);
    assert!(said.stderr.contains("differs in signature"), "{said:?}");
    fs::write(&file, &good).expect("a file");
    let signature = file.with_extension("sig.json");
    let signed = fs::read_to_string(&signature).expect("a signature");
    fs::write(&signature, signed.replace("sofia", "alice")).expect("a file");
    let said = scene.resume(run, Some(approval)).ends_with(3);
    assert!(said.stderr.contains("differs in signature"), "{said:?}");
    fs::write(&signature, signed).expect("a file");
    assert_eq!(scene.sidecar(run)["state"], "awaiting_cut_authorization");
}
