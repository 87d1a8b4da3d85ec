//! The published schema says what the program writes: all of it, and nothing else (ORC-5).

use std::fs;
use std::path::Path;

use indexmap::IndexMap;
use jsonschema::Validator;
use serde_json::{Value, json};

use super::super::*;
use super::{RUN_ID, example, value};

fn schema() -> Value {
    let path = "../../docs/reference/orchestrator-sidecar.schema.json";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn validator() -> Validator {
    jsonschema::meta::validate(&schema()).expect("a sound schema");
    jsonschema::draft202012::new(&schema()).unwrap()
}

#[track_caller]
fn assert_valid(validator: &Validator, value: &Value) {
    let problems: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn what_is_written_fits_the_schema() {
    let validator = validator();
    assert_valid(&validator, &value());

    let mut small = example();
    small.phases = IndexMap::new();
    small.sovereign_approvals = Vec::new();
    small.idempotency_keys = IndexMap::new();
    small.context_pins = Pins::default();
    small.last_error = None;
    small.consumed_approval_ids = Vec::new();
    small.mode = Mode::Dryrun;
    for state in [
        "pending",
        "source_pinned",
        "marked",
        "cutplan_ok",
        "pre_write_backup_taken",
        "grants_probed",
        "awaiting_cut_authorization",
        "cut_leg_a_committed",
        "structural_verified",
        "leg_b_recorded",
        "write_verified",
        "awaiting_lifecycle_authorization",
        "lifecycle_enacted",
        "closeout_reported",
        "failed_IG_source_pin",
        "stopped_drift",
        "voided_by_sovereign",
    ] {
        small.state = state.to_owned();
        assert_valid(&validator, &serde_json::from_str(&text::of(&small)).unwrap());
    }
    for phase in PHASES {
        let mut run = example();
        let mut record = run.phases[0].clone();
        record.phase = (*phase).to_owned();
        run.phases = IndexMap::from([((*phase).to_owned(), record)]);
        assert_valid(&validator, &serde_json::from_str(&text::of(&run)).unwrap());
    }
    for gate in [Gate::CutAuthz, Gate::LifecycleAuthz, Gate::ResumeStopped, Gate::DriftAck] {
        let mut run = example();
        run.sovereign_approvals[0].gate = gate;
        assert_valid(&validator, &serde_json::from_str(&text::of(&run)).unwrap());
    }
}

const PHASES: &[&str] = &[
    "source_pin",
    "mark",
    "cutplan",
    "backup",
    "grant_probe",
    "cut_authz_request",
    "cut_leg_a",
    "structural_verify",
    "leg_b_record",
    "write_verify",
    "lifecycle_authz_request",
    "lifecycle_enact",
    "closeout",
];

/// Every object of the file, as the pointers to it.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            for (key, value) in members {
                objects(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                objects(value, &format!("{at}/{n}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Objects whose members are named by the run, so that one may be missing.
fn is_open(pointer: &str) -> bool {
    ["/phases", "/idempotency_keys"].contains(&pointer)
        || pointer.starts_with("/context_pins")
        || pointer.ends_with("/gate_invariants")
}

#[test]
fn a_field_more_or_less_does_not_fit() {
    let validator = validator();
    let good = value();
    let mut pointers = Vec::new();
    objects(&good, "", &mut pointers);
    let closed: Vec<&String> = pointers.iter().filter(|pointer| !is_open(pointer)).collect();
    // The run, three phases, their artifacts, two approvals and the error.
    assert_eq!(closed.len(), 10, "{closed:?}");
    for pointer in closed {
        let mut more = good.clone();
        more.pointer_mut(pointer).unwrap()["extra"] = json!(1);
        assert!(!validator.is_valid(&more), "{pointer}: one more");
        let names: Vec<String> =
            good.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        for name in names {
            let mut less = good.clone();
            less.pointer_mut(pointer).unwrap().as_object_mut().unwrap().shift_remove(&name);
            assert!(!validator.is_valid(&less), "{pointer}: without {name}");
            let mut wrong = good.clone();
            wrong.pointer_mut(pointer).unwrap()[&name] = json!([{ "of another": "type" }]);
            assert!(!validator.is_valid(&wrong), "{pointer}: another {name}");
        }
    }
}

#[test]
fn a_wrong_value_does_not_fit() {
    let validator = validator();
    for (pointer, wrong) in [
        ("/run_id", json!("../etc")),
        ("/run_id", json!(RUN_ID.to_uppercase())),
        ("/run_id", json!(RUN_ID.replace("-7abc", "-4abc"))),
        ("/run_id", json!(format!("{RUN_ID}/.."))),
        ("/created_utc", json!("2026-05-20T09:30:00+02:00")),
        ("/created_utc", json!("2026-05-20")),
        ("/created_by", json!("")),
        ("/source_document_id", json!("no uuid")),
        ("/mode", json!("wet")),
        ("/state", json!("running")),
        ("/state", json!("failed_")),
        ("/phases/mark/phase", json!("unknown")),
        ("/phases/mark/result", json!("skipped")),
        ("/phases/mark/gate_invariants", json!({ "a": 1 })),
        ("/phases/mark/artifacts/0/sha256", json!("AB".repeat(32))),
        ("/phases/mark/artifacts/0/sha256", json!("ab")),
        ("/phases", json!({ "unknown": value()["phases"]["mark"] })),
        ("/sovereign_approvals/0/gate", json!("SG_3")),
        ("/sovereign_approvals/0/requested_utc", json!(null)),
        ("/idempotency_keys", json!({ "cut_leg_a": 1 })),
        ("/context_pins", json!({ "password": "x" })),
        ("/context_pins", json!({ "API_KEY": "x" })),
        ("/context_pins", json!([])),
        ("/last_error/code", json!("drift")),
        ("/schema_version", json!(2)),
        ("/consumed_approval_ids", json!(["a", "a"])),
        ("/elapsed_ms", json!(-1)),
        ("/elapsed_ms", json!(0.5)),
        ("/sidecar_sha256", json!("")),
    ] {
        let mut value = value();
        *value.pointer_mut(pointer).unwrap() = wrong.clone();
        assert!(!validator.is_valid(&value), "{pointer} = {wrong}");
    }
}
