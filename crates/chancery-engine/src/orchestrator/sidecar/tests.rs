//! Reading back exactly what was written, and nothing else (ORC-5).

mod failures;
mod schema;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use chancery_model::canonical;
use indexmap::IndexMap;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use super::folder::Folder;
use super::*;
use crate::orchestrator::run_id::RunId;

const RUN_ID: &str = "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ab";
const OTHER_RUN_ID: &str = "ictr-20260520T093000Z-018f4e9e-6c00-7abc-8def-0123456789ac";

fn run_id() -> RunId {
    RUN_ID.parse().unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_779_269_400 + second, 250_000_000).unwrap()
}

/// A run that has something in every field.
fn example() -> Run {
    let phase = |name: &str, result, finished: Option<i64>| PhaseRecord {
        phase: name.to_owned(),
        started_utc: at(1),
        finished_utc: finished.map(at),
        result,
        gate_invariants: IndexMap::from([
            ("source_document_exists".to_owned(), true),
            ("manifest_digest_matches".to_owned(), result != PhaseResult::Failed),
        ]),
        kb_doc_id: finished.map(|_| format!("runs/{RUN_ID}/{name}")),
        artifacts: vec![Artifact { path: "phase-01.md".to_owned(), sha256: "ab".repeat(32) }],
    };
    let mut run = Run {
        run_id: run_id(),
        created_utc: at(0),
        created_by: "ann".to_owned(),
        document_id: "ICX-LAW-2026-001".to_owned(),
        source_document_id: Uuid::from_u128(1),
        source_version_id: Uuid::from_u128(2),
        mode: Mode::Live,
        state: "stopped_drift".to_owned(),
        phases: IndexMap::from([
            ("source_pin".to_owned(), phase("source_pin", PhaseResult::Passed, Some(2))),
            ("mark".to_owned(), phase("mark", PhaseResult::Failed, Some(3))),
            ("cutplan".to_owned(), phase("cutplan", PhaseResult::Running, None)),
        ]),
        sovereign_approvals: vec![
            Approval {
                gate: Gate::CutAuthz,
                requested_utc: at(4),
                approval_kb_id: Some("approvals/1".to_owned()),
                review_decision_id: Some(Uuid::from_u128(3)),
                validated_utc: Some(at(5)),
            },
            Approval {
                gate: Gate::DriftAck,
                requested_utc: at(6),
                approval_kb_id: None,
                review_decision_id: None,
                validated_utc: None,
            },
        ],
        idempotency_keys: IndexMap::from([("cut_leg_a".to_owned(), "k-1 \"é\" 🦀".to_owned())]),
        context_pins: Pins::default(),
        last_error: Some(LastError {
            code: "STOP_DRIFT".to_owned(),
            gate: Some("IG_cutplan".to_owned()),
            reason: "3 rows\nwere 2".to_owned(),
            at_utc: at(7),
            report_kb_id: None,
        }),
        schema_version: SchemaVersion,
        consumed_approval_ids: vec!["approvals/1".to_owned()],
        elapsed_ms: 12_345,
    };
    run.context_pins.pin("manifest_digest", json!("cd".repeat(32))).unwrap();
    run.context_pins.pin("address_rows", json!(60)).unwrap();
    run.context_pins.pin("ratio", json!(0.25)).unwrap();
    run.context_pins.pin("functions", json!({ "fn_iu_enact": "ef", "also": [null] })).unwrap();
    run
}

fn stored() -> (TempDir, Sidecar) {
    let root = tempfile::tempdir().unwrap();
    let sidecar = Sidecar::create(root.path(), example()).unwrap();
    (root, sidecar)
}

fn folder(root: &Path) -> Folder {
    Folder::of(root, run_id())
}

/// What reading these bytes gives.
fn read_bytes(bytes: &[u8]) -> Result<Run, Error> {
    text::read(bytes, &folder(Path::new("runs")))
}

/// The text of a value with a digest that fits, as a skilled forger would make it.
fn sealed(mut value: Value) -> String {
    let members = value.as_object_mut().unwrap();
    members.shift_remove("sidecar_sha256");
    let digest = hex::encode(canonical::sha256(&value));
    value.as_object_mut().unwrap().insert("sidecar_sha256".to_owned(), digest.into());
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
}

fn value() -> Value {
    serde_json::from_str(&text::of(&example())).unwrap()
}

#[test]
fn what_was_stored_is_read_again() {
    let (root, mut sidecar) = stored();
    assert_eq!(read(root.path(), run_id()).unwrap(), example());
    sidecar.run_mut().state = "closeout_reported".to_owned();
    sidecar.pin("region_sha", json!("01")).unwrap();
    assert_eq!(read(root.path(), run_id()).unwrap(), example(), "not stored yet");
    sidecar.store().unwrap();
    let expected = sidecar.run().clone();
    drop(sidecar);
    let again = Sidecar::open(root.path(), run_id()).unwrap();
    assert_eq!(*again.run(), expected);
    assert_eq!(list(root.path()).unwrap(), [run_id()]);
}

/// The fields of seed D §5 in their order, then ours; the digest is over all else.
#[test]
fn the_fields_stand_in_their_order_and_the_digest_last() {
    let value = value();
    let names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "run_id",
            "created_utc",
            "created_by",
            "document_id",
            "source_document_id",
            "source_version_id",
            "mode",
            "state",
            "phases",
            "sovereign_approvals",
            "idempotency_keys",
            "context_pins",
            "last_error",
            "schema_version",
            "consumed_approval_ids",
            "elapsed_ms",
            "sidecar_sha256",
        ]
    );
    let phases: Vec<&String> = value["phases"].as_object().unwrap().keys().collect();
    assert_eq!(phases, ["source_pin", "mark", "cutplan"], "as entered, not by alphabet");
    assert_eq!(value["created_utc"], "2026-05-20T09:30:00.25Z");
    assert_eq!(sealed(value), text::of(&example()));
}

#[test]
fn folders_and_files_are_for_their_owner_alone() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("a/runs");
    let sidecar = Sidecar::create(&root, example()).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let folder = sidecar.folder();
    assert_eq!((mode(&root), mode(folder.path())), (0o700, 0o700));
    assert_eq!((mode(&folder.state()), mode(&folder.lock())), (0o600, 0o600));
    assert_eq!(folder.state(), root.join(RUN_ID).join("state.json"));
    assert_eq!(folder.lock(), root.join(RUN_ID).join("state.lock"));
    assert_eq!(folder.backup(), root.join(RUN_ID).join("pre_write.gpg"));
    assert_eq!(folder.phase_report(1), root.join(RUN_ID).join("phase-01.md"));
    assert_eq!(folder.phase_report(11), root.join(RUN_ID).join("phase-11.md"));
}

#[test]
fn a_run_that_is_not_there_is_not_made() {
    let root = tempfile::tempdir().unwrap();
    let gone = root.path().join("nowhere");
    for root in [root.path(), &gone] {
        for error in [
            read(root, run_id()).map(drop).unwrap_err(),
            Sidecar::open(root, run_id()).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.stop_code(), "STOP_RUN_NOT_FOUND");
            assert!(error.to_string().contains("cutter orchestrate list"), "{error}");
        }
    }
    assert!(fs::read_dir(root.path()).unwrap().next().is_none(), "looking made something");
    assert_eq!(list(&gone).unwrap(), []);
    // A crash before the first state leaves a folder.
    fs::create_dir(root.path().join(RUN_ID)).unwrap();
    let error = Sidecar::open(root.path(), run_id()).map(drop).unwrap_err();
    assert_eq!(error.stop_code(), "STOP_RUN_NOT_FOUND");
    Sidecar::create(root.path(), example()).unwrap();
}

#[test]
fn a_run_begins_once() {
    let (root, sidecar) = stored();
    let busy = Sidecar::create(root.path(), example()).map(drop).unwrap_err();
    assert_eq!(busy.stop_code(), "STOP_RUN_BUSY");
    drop(sidecar);
    let there = Sidecar::create(root.path(), example()).map(drop).unwrap_err();
    assert_eq!(there.stop_code(), "STOP_RUN_EXISTS");
    assert_eq!(read(root.path(), run_id()).unwrap(), example());
}

#[test]
fn a_busy_run_names_its_holder_and_can_still_be_looked_at() {
    let (root, sidecar) = stored();
    let busy = Sidecar::open(root.path(), run_id()).map(drop).unwrap_err();
    assert_eq!(busy.stop_code(), "STOP_RUN_BUSY");
    assert!(busy.to_string().contains(&format!("process {}", std::process::id())), "{busy}");
    assert_eq!(read(root.path(), run_id()).unwrap(), example());
    drop(sidecar);
    Sidecar::open(root.path(), run_id()).unwrap();
}

#[test]
fn a_state_of_another_run_is_not_stored() {
    let (root, mut sidecar) = stored();
    sidecar.run_mut().run_id = OTHER_RUN_ID.parse().unwrap();
    assert_eq!(sidecar.store().unwrap_err().stop_code(), "STOP_SIDECAR_EDITED");
    assert_eq!(read(root.path(), run_id()).unwrap(), example());
}

#[test]
fn a_time_that_overflowed_does_not_cost_the_file() {
    let run = Run { elapsed_ms: u64::MAX, ..example() };
    let again = read_bytes(text::of(&run).as_bytes()).unwrap();
    assert_eq!(again, Run { elapsed_ms: (1 << 53) - 1, ..example() });
}

#[test]
fn the_list_shows_runs_and_nothing_else() {
    let (root, _sidecar) = stored();
    let other = Run { run_id: OTHER_RUN_ID.parse().unwrap(), ..example() };
    drop(Sidecar::create(root.path(), other).unwrap());
    fs::create_dir(root.path().join("lost+found")).unwrap();
    fs::write(root.path().join(RUN_ID.replace("2026", "2027")), "a file").unwrap();
    let ids: Vec<String> = list(root.path()).unwrap().iter().map(RunId::to_string).collect();
    assert_eq!(ids, [RUN_ID, OTHER_RUN_ID]);
}

/// Every kind of damage has its own code, and none is taken for a state.
#[test]
fn damage_is_told_apart() {
    let good = text::of(&example());
    let change = |change: &dyn Fn(&mut Value)| {
        let mut value = value();
        change(&mut value);
        value
    };
    let pretty = |value: &Value| format!("{}\n", serde_json::to_string_pretty(value).unwrap());
    let hand = change(&|value| value["state"] = json!("closeout_reported"));
    let corrupt = "STOP_SIDECAR_CORRUPT";
    let edited = "STOP_SIDECAR_EDITED";
    let version = "STOP_SIDECAR_VERSION";
    let cases: Vec<(&str, &str, String)> = vec![
        ("empty", corrupt, String::new()),
        ("zeros, as after a power cut", corrupt, "\0".repeat(good.len())),
        ("not an object", corrupt, "[]\n".to_owned()),
        ("truncated", corrupt, good[..good.len() / 2].to_owned()),
        ("two files", corrupt, good.repeat(2)),
        ("a key twice", corrupt, good.replacen('{', "{\n  \"state\": \"pending\",", 1)),
        (
            "a nested key twice",
            corrupt,
            good.replacen("\"address_rows\": 60", "\"address_rows\": 59, \"address_rows\": 60", 1),
        ),
        ("an unknown field", corrupt, sealed(change(&|value| value["extra"] = json!(1)))),
        (
            "an unknown field in a phase",
            corrupt,
            sealed(change(&|value| value["phases"]["mark"]["extra"] = json!(1))),
        ),
        (
            "a field missing",
            corrupt,
            sealed(change(&|value| {
                value.as_object_mut().unwrap().shift_remove("mode");
            })),
        ),
        (
            "an optional field missing",
            edited,
            sealed(change(&|value| {
                value["sovereign_approvals"][1]
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("validated_utc");
            })),
        ),
        ("an unknown mode", corrupt, sealed(change(&|value| value["mode"] = json!("wet")))),
        ("no version", corrupt, sealed(change(&|value| value["schema_version"] = json!("1")))),
        ("another version", version, sealed(change(&|value| value["schema_version"] = json!(2)))),
        (
            "another version with other fields",
            version,
            "{\"schema_version\": 2, \"new\": 1}".to_owned(),
        ),
        (
            "no digest",
            corrupt,
            pretty(&change(&|value| {
                value.as_object_mut().unwrap().shift_remove("sidecar_sha256");
            })),
        ),
        ("edited by hand", edited, pretty(&hand)),
        (
            "another digest",
            edited,
            good.replace("\"sidecar_sha256\": \"", "\"sidecar_sha256\": \"0"),
        ),
        ("another run", edited, sealed(change(&|value| value["run_id"] = json!(OTHER_RUN_ID)))),
        ("no last line end", edited, good.trim_end().to_owned()),
        ("a blank more", edited, format!("{good} ")),
        ("compact", edited, serde_json::to_string(&value()).unwrap()),
        (
            "another order",
            edited,
            sealed(change(&|value| {
                let members = value.as_object_mut().unwrap();
                let run_id = members.shift_remove("run_id").unwrap();
                members.insert("run_id".to_owned(), run_id);
            })),
        ),
        (
            "another spelling of a time",
            edited,
            sealed(change(&|value| value["created_utc"] = json!("2026-05-20T11:30:00.25+02:00"))),
        ),
        ("another spelling of a letter", edited, good.replacen("ICX", "\\u0049CX", 1)),
        (
            "another spelling of a number",
            corrupt,
            good.replacen("\"address_rows\": 60", "\"address_rows\": 60.0", 1),
        ),
        (
            "a number that is rounded",
            corrupt,
            sealed(change(&|value| value["elapsed_ms"] = json!(u64::MAX))),
        ),
        (
            "a secret",
            edited,
            sealed(change(&|value| value["context_pins"]["password"] = json!("hunter2"))),
        ),
    ];
    for (what, code, text) in cases {
        assert_ne!(text, good, "{what}: nothing was changed");
        let error = read_bytes(text.as_bytes()).expect_err(what);
        assert_eq!(error.stop_code(), code, "{what}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

/// What serde says of a wrong value repeats the value; our message must not.
#[test]
fn an_error_repeats_nothing_of_the_file() {
    let mut value = value();
    value["mode"] = json!("hunter2");
    for text in [sealed(value), text::of(&example()).replacen('{', "{\n\"hunter2\": hunter2,", 1)] {
        let error = read_bytes(text.as_bytes()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn what_is_no_plain_file_is_not_read() {
    let (root, sidecar) = stored();
    let state = sidecar.folder().state();
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&state, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &state).unwrap();
    assert_eq!(read(root.path(), run_id()).unwrap_err().stop_code(), "STOP_SIDECAR_IO");
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    assert_eq!(read(root.path(), run_id()).unwrap_err().stop_code(), "STOP_SIDECAR_IO");
}

#[test]
fn no_beginning_of_a_file_is_a_file() {
    let good = text::of(&example());
    for length in 0..good.len() {
        assert!(read_bytes(&good.as_bytes()[..length]).is_err(), "{length} bytes");
    }
    assert_eq!(read_bytes(good.as_bytes()).unwrap(), example());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn flipped_bits_are_noticed(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..8), 1..4),
    ) {
        let good = text::of(&example()).into_bytes();
        let mut bytes = good.clone();
        for (at, bit) in &flips {
            bytes[at.index(good.len())] ^= 1 << bit;
        }
        prop_assert_eq!(read_bytes(&bytes).is_ok(), bytes == good);
    }

    #[test]
    fn spliced_files_are_noticed(
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let good = text::of(&example()).into_bytes();
        let (a, b) = (from.index(good.len()), to.index(good.len()));
        let mut bytes = good.clone();
        bytes.splice(a.min(b)..a.max(b), with);
        prop_assert_eq!(read_bytes(&bytes).is_ok(), bytes == good);
    }

    #[test]
    fn any_run_comes_back_as_it_went(
        text in any::<String>(),
        number in -(1_i64 << 53) + 1..1_i64 << 53,
        double in prop::num::f64::NORMAL.prop_filter("whole and large", |d| d.fract() != 0.0),
        elapsed_ms in 0_u64..1 << 53,
        second in -100_000_000_000_i64..200_000_000_000,
        nano in 0_i32..1_000_000_000,
    ) {
        let mut run = example();
        run.reason_and_keys(&text);
        run.elapsed_ms = elapsed_ms;
        run.created_utc = Timestamp::new(second, nano).unwrap();
        run.context_pins.pin("number", json!([number, double, text])).unwrap();
        prop_assert_eq!(read_bytes(text::of(&run).as_bytes()).unwrap(), run);
    }
}

impl Run {
    /// Puts a text wherever a text may stand.
    fn reason_and_keys(&mut self, text: &str) {
        self.state = text.to_owned();
        self.created_by = text.to_owned();
        self.idempotency_keys.insert(text.to_owned(), text.to_owned());
        self.phases[0].gate_invariants.insert(text.to_owned(), false);
        self.last_error.as_mut().unwrap().reason = text.to_owned();
    }
}
