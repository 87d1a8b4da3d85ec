//! RFC 8785: the bytes that are hashed and signed. The database is held against the same vectors.

use chancery_model::canonical;
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(serde::Deserialize)]
struct Fixture {
    vectors: Vec<Vector>,
}

#[derive(serde::Deserialize)]
struct Vector {
    why: String,
    json: String,
    canonical: String,
    /// The bits of the double that the text stands for.
    double: Option<String>,
}

fn vectors() -> Vec<Vector> {
    let fixture: Fixture =
        serde_json::from_str(include_str!("../fixtures/canonical.json")).expect("a fixture");
    assert!(fixture.vectors.len() > 50, "the vectors are there");
    fixture.vectors
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// AUD-1: the vectors of the RFC and those that tell two implementations apart.
#[test]
fn the_vectors_of_the_rfc_hold() {
    for Vector { why, json, canonical, .. } in vectors() {
        assert_eq!(canonical::to_string(&parsed(&json)), canonical, "{why}: {json}");
        assert_eq!(canonical::to_string(&parsed(&canonical)), canonical, "{why}: a fixed point");
    }
}

/// AUD-1: a number that is read is the number that was written, to the last bit; else a good signature would not verify.
#[test]
fn numbers_are_read_exactly() {
    let mut seen = 0;
    for Vector { why, json, double, .. } in vectors() {
        let Some(bits) = double else { continue };
        let bits = u64::from_str_radix(&bits, 16).expect("bits");
        let read = parsed(&json).as_f64().expect("a number");
        assert_eq!(read.to_bits(), bits, "{why}: {json}");
        seen += 1;
    }
    assert!(seen > 20);
}

#[test]
fn members_are_ordered_whatever_order_they_came_in() {
    let one = json!({ "b": [{ "z": 1, "y": 2 }], "a": { "d": 1, "c": 2 } });
    let other = json!({ "a": { "c": 2, "d": 1 }, "b": [{ "y": 2, "z": 1 }] });
    assert_eq!(canonical::to_string(&one), r#"{"a":{"c":2,"d":1},"b":[{"y":2,"z":1}]}"#);
    assert_eq!(canonical::sha256(&one), canonical::sha256(&other));
    assert_ne!(canonical::sha256(&one), canonical::sha256(&json!({ "a": 1 })));
}

proptest! {
    /// AUD-1: reading back what was written gives the same double, for every double there is.
    #[test]
    fn every_double_survives(double in any::<f64>().prop_filter("JSON has no others", |d| d.is_finite())) {
        let text = canonical::to_string(&json!(double));
        // Zero has one spelling.
        prop_assert!(parsed(&text).as_f64().is_some_and(|read| read == double), "{} became {}", double, text);
    }

    /// AUD-1: every text survives, and nothing of it needs a second escape.
    #[test]
    fn every_text_survives(text in any::<String>(), name in any::<String>()) {
        let value = json!({ name: text });
        let written = canonical::to_string(&value);
        prop_assert_eq!(parsed(&written), value);
        prop_assert!(!written.bytes().any(|byte| byte < b' '));
    }
}
