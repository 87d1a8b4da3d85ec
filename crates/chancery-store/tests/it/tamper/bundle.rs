//! AUD-1: one file proves one entry, with no database; whatever is changed in it is found.

use chancery_engine::audit::{self, Pins, Report};
use chancery_model::canonical;
use chancery_testkit::{keys as testkeys, slice};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::scene::{Cutter, every_way};

pub(super) async fn exported(cutter: &Cutter, entry: Uuid) -> Vec<u8> {
    audit::export(&cutter.auditor, entry).await.expect("an answer").expect("a request")
}

pub(super) async fn verified(file: &[u8]) -> Report {
    audit::verify_bundle(file, Pins::default()).await.expect("a report")
}

/// AUD-1, CUT-10: a bundle is everything, whichever way its entry went.
#[tokio::test]
async fn a_bundle_proves_its_entry_without_a_database() {
    let cutter = Cutter::new().await;
    let ways = every_way(&cutter).await;
    let mut bundles = Vec::new();
    for entry in [ways.happy, ways.dependent, ways.failed, ways.abandoned, ways.rejected] {
        let file = exported(&cutter, entry).await;
        assert_eq!(file, exported(&cutter, entry).await, "the same evidence gives the same bytes");
        bundles.push(file);
    }
    let nobody = audit::export(&cutter.auditor, Uuid::nil()).await.expect("an answer");
    assert_eq!(nobody, None);
    drop(cutter);
    for file in &bundles {
        let report = verified(file).await;
        assert_eq!(report.mismatches, []);
        assert!(report.signatures > 0 && report.keys.iter().all(|key| !key.pinned));
    }
    keys_can_be_pinned(&bundles[0]).await;
}

/// SEC-1: an auditor who knows the keys need not believe the bundle's.
async fn keys_can_be_pinned(file: &[u8]) {
    let keys = verified(file).await.keys;
    let mut pins = Pins::default();
    for key in &keys {
        pins.add(&key.principal, &key.public_key.to_uppercase()).expect("a key");
    }
    let report = audit::verify_bundle(file, pins).await.expect("a report");
    assert!(report.ok() && report.keys.iter().all(|key| key.pinned), "{report:?}");
    let names: Vec<&str> = keys.iter().map(|key| key.principal.as_str()).collect();
    assert_eq!(names, ["edith", "mara", "rita", "vera"], "who signed the request");
    let another: String =
        testkeys::public_key("another").iter().map(|byte| format!("{byte:02x}")).collect();
    for key in &keys {
        let mut pins = Pins::default();
        pins.add(&key.principal, &another).expect("a key");
        let report = audit::verify_bundle(file, pins).await.expect("a report");
        assert!(
            report
                .mismatches
                .iter()
                .any(|m| m.rule == "signature_is_good"
                    && m.what.contains("not a key that you trust")),
            "{report:?}"
        );
    }
    Pins::default().add("mara", "12").expect_err("no key is that short");
}

/// An entry with as little text as there can be.
async fn small() -> Vec<u8> {
    let cutter = Cutter::new().await;
    let entry = cutter.complete("small", "# A\n\nb\n", &[]).await;
    let file = exported(&cutter, entry).await;
    assert_eq!(verified(&file).await.mismatches, []);
    file
}

/// AUD-1: a flipped bit is found, wherever it is. `CHANCERY_TEST_FLIPS=all` tries every one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_flipped_bit_of_a_bundle_is_found() {
    let file = small().await;
    let bits = file.len() * 8;
    let flips = slice::asked("CHANCERY_TEST_FLIPS").unwrap_or_else(|| "300".to_owned());
    let mut random = StdRng::seed_from_u64(slice::seed(991));
    let chosen: Vec<usize> = if flips == "all" {
        (0..bits).collect()
    } else {
        let flips: usize = flips.parse().expect("CHANCERY_TEST_FLIPS is a number or all");
        // The edges of the two lines, and as many as asked for in between.
        let edges = (0..64).chain(bits - 73 * 8..bits);
        let between = (0..flips).map(|_| random.gen_range(0..bits));
        edges.chain(between).collect()
    };
    let mut tries = tokio::task::JoinSet::new();
    for chunk in chosen.chunks(chosen.len().div_ceil(8)) {
        let (chunk, mut flipped) = (chunk.to_vec(), file.clone());
        tries.spawn(async move {
            for bit in chunk {
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(!verified(&flipped).await.ok(), "bit {bit} of {bits}");
                flipped[bit / 8] ^= 1 << (bit % 8);
            }
        });
    }
    tries.join_all().await;
    for length in (0..file.len()).step_by(file.len() / 50).chain([file.len() - 1]) {
        assert!(!verified(&file[..length]).await.ok(), "cut off at {length}");
    }
    let longer = [&file[..], b"\n"].concat();
    assert!(!verified(&longer).await.ok(), "something behind it");
}

pub(crate) fn sealed(document: &Value) -> Vec<u8> {
    let line = canonical::to_string(document) + "\n";
    let seal = Sha256::digest(&line).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{line}sha256:{seal}\n").into_bytes()
}

/// What a bundle says about keys and principals and nobody signed: when a key was good, of which kind a principal is, and which
/// kinds must sign. Whose a key is can be pinned.
const ON_TRUST: [&str; 4] =
    ["/keys/rows/*/3", "/keys/rows/*/4", "/principals/rows/*/0", "/kinds_that_sign/*"];

/// AUD-1: whoever changes a value and makes the last line fit again is found as well.
#[tokio::test]
async fn every_changed_value_of_a_sealed_bundle_is_found() {
    let file = small().await;
    let line = file.split(|byte| *byte == b'\n').next().expect("a line");
    let document: Value = serde_json::from_slice(line).expect("JSON");
    assert_eq!(sealed(&document), file, "the test seals as the export does");
    let mut places = Vec::new();
    leaves(&document, String::new(), &mut places);
    assert!(places.len() > 400, "{} values", places.len());
    let mut unnoticed = Vec::new();
    for place in &places {
        let mut changed = document.clone();
        let value = changed.pointer_mut(place).expect("it is there");
        *value = match &*value {
            Value::String(text) => Value::String(other(text)),
            _ => Value::String("1".to_owned()),
        };
        if verified(&sealed(&changed)).await.ok() && !on_trust(place) {
            unnoticed.push(place.clone());
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new());
    for (table, held) in document["tables"].as_object().expect("tables") {
        for n in 0..held["rows"].as_array().expect("rows").len() {
            let mut changed = document.clone();
            let rows = changed["tables"][table]["rows"].as_array_mut().expect("rows");
            rows.remove(n);
            assert!(!verified(&sealed(&changed)).await.ok(), "row {n} of {table} is gone");
            let mut changed = document.clone();
            let rows = changed["tables"][table]["rows"].as_array_mut().expect("rows");
            rows.push(rows[n].clone());
            assert!(!verified(&sealed(&changed)).await.ok(), "row {n} of {table} twice");
        }
    }
}

fn leaves(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                leaves(member, format!("{place}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                leaves(item, format!("{place}/{n}"), places);
            }
        }
        _ => places.push(place),
    }
}

/// Another text of the same kind: digits stay digits, so that it is found for what it says and not for how it looks.
pub(crate) fn other(text: &str) -> String {
    match text.chars().last() {
        Some(last @ '0'..='8') => {
            let digit = char::from_u32(u32::from(last) + 1).expect("a digit");
            format!("{}{digit}", &text[..text.len() - 1])
        }
        Some('9' | 'a'..='f') => format!("{}0", &text[..text.len() - 1]),
        _ => format!("{text}x"),
    }
}

fn on_trust(place: &str) -> bool {
    ON_TRUST.iter().any(|pattern| {
        let mut parts = place.split('/');
        pattern
            .split('/')
            .all(|part| parts.next().is_some_and(|found| part == "*" || part == found))
            && parts.next().is_none()
    })
}
