//! EVT-1: payloads are checked by a small JSON Schema validator in the database, and schemas by another one.

use std::collections::BTreeSet;

use chancery_model::machine::schema_subset;
use chancery_testkit::TestDb;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use sqlx::postgres::PgConnection;

use crate::support::letters;

/// What a door reports: where, and which keyword. Schemas have no keyword, only the place.
type Place = (String, String);

async fn places(
    connection: &mut PgConnection,
    query: &'static str,
    schema: &Value,
    value: &Value,
) -> Vec<Place> {
    let found: Value = sqlx::query_scalar(query)
        .bind(schema)
        .bind(value)
        .fetch_one(connection)
        .await
        .expect("an answer");
    places_in(&found)
}

fn places_in(found: &Value) -> Vec<Place> {
    let word = |problem: &Value, key: &str| problem[key].as_str().unwrap_or_default().to_owned();
    let problems = found.as_array().expect("a list of problems");
    problems.iter().map(|problem| (word(problem, "at"), word(problem, "rule"))).collect()
}

const VALUE: &str = "select event.value_problems($1, $2)";
const SCHEMA: &str = "select event.schema_problems($1) || $2";

/// Every keyword of the subset: what it lets through and what it stops, at which place.
#[tokio::test]
async fn every_keyword_stops_what_it_says() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let nested =
        json!({ "properties": { "list": { "items": { "type": "integer", "minimum": 1 } } } });
    type Broken = &'static [(&'static str, &'static str)];
    let cases: Vec<(Value, Value, Broken)> = vec![
        (json!({}), json!({ "any": [1, null] }), &[]),
        (json!({ "description": "words only" }), json!(1), &[]),
        (json!({ "type": "object" }), json!([]), &[("", "type")]),
        (json!({ "type": "array" }), json!({}), &[("", "type")]),
        (json!({ "type": "string" }), json!(1), &[("", "type")]),
        (json!({ "type": "boolean" }), json!("true"), &[("", "type")]),
        (json!({ "type": "null" }), json!(false), &[("", "type")]),
        (json!({ "type": "null" }), json!(null), &[]),
        (json!({ "type": "number" }), json!("1"), &[("", "type")]),
        (json!({ "type": "number" }), json!(1), &[]),
        (json!({ "type": "integer" }), json!(1.5), &[("", "type")]),
        (json!({ "type": "integer" }), json!(2.0), &[]),
        (json!({ "type": "integer" }), json!(-3e10), &[]),
        (json!({ "type": ["string", "null"] }), json!(null), &[]),
        (json!({ "type": ["string", "integer"] }), json!(1.5), &[("", "type")]),
        (json!({ "required": ["a", "b"] }), json!({ "b": null }), &[("/a", "required")]),
        (json!({ "required": ["a"] }), json!([]), &[]),
        (
            json!({ "properties": { "a": { "type": "string" } } }),
            json!({ "a": 1, "b": 1 }),
            &[("/a", "type")],
        ),
        (json!({ "properties": { "a": { "type": "string" } } }), json!("no object"), &[]),
        (
            json!({ "additionalProperties": false }),
            json!({ "a": 1 }),
            &[("/a", "additionalProperties")],
        ),
        (json!({ "additionalProperties": true }), json!({ "a": 1 }), &[]),
        (
            json!({ "properties": { "a": {} }, "additionalProperties": false }),
            json!({ "a": 1 }),
            &[],
        ),
        (
            json!({ "properties": { "a": {} }, "additionalProperties": false }),
            json!({ "A": 1 }),
            &[("/A", "additionalProperties")],
        ),
        (json!({ "enum": [1, "x", null] }), json!(1.0), &[]),
        (json!({ "enum": [1, "x", null] }), json!("1"), &[("", "enum")]),
        (json!({ "enum": [{ "b": 1, "a": [2] }] }), json!({ "a": [2], "b": 1 }), &[]),
        (json!({ "enum": [[1, 2]] }), json!([2, 1]), &[("", "enum")]),
        (json!({ "const": null }), json!(null), &[]),
        (json!({ "const": null }), json!(0), &[("", "const")]),
        (json!({ "const": { "a": 1 } }), json!({ "a": 1, "b": 2 }), &[("", "const")]),
        (json!({ "minimum": 1 }), json!(1), &[]),
        (json!({ "minimum": 1 }), json!(0.999), &[("", "minimum")]),
        (json!({ "minimum": 1 }), json!("0"), &[]),
        (json!({ "maximum": -0.5 }), json!(-0.5), &[]),
        (json!({ "maximum": -0.5 }), json!(0), &[("", "maximum")]),
        (json!({ "minLength": 2 }), json!("ö"), &[("", "minLength")]),
        (json!({ "maxLength": 1 }), json!("😀"), &[]),
        (json!({ "maxLength": 1 }), json!("o\u{308}"), &[("", "maxLength")]),
        (json!({ "maxLength": 0 }), json!([1]), &[]),
        (json!({ "pattern": "^a+$" }), json!("aaa"), &[]),
        (json!({ "pattern": "^a+$" }), json!("aab"), &[("", "pattern")]),
        (json!({ "pattern": "b" }), json!("abc"), &[]),
        (json!({ "pattern": "b" }), json!("ABC"), &[("", "pattern")]),
        (json!({ "pattern": "b" }), json!(1), &[]),
        (json!({ "minItems": 1 }), json!([]), &[("", "minItems")]),
        (json!({ "maxItems": 1 }), json!([1, 2]), &[("", "maxItems")]),
        (json!({ "maxItems": 1 }), json!({ "a": 1, "b": 2 }), &[]),
        (
            json!({ "items": { "type": "string" } }),
            json!(["a", 1, "b", null]),
            &[("/1", "type"), ("/3", "type")],
        ),
        (nested, json!({ "list": [1, 0, "x"] }), &[("/list/1", "minimum"), ("/list/2", "type")]),
        (
            json!({ "required": ["a/b"], "properties": { "~x": { "type": "null" } }, "additionalProperties": false }),
            json!({ "~x": 1, "c/d~": 1 }),
            &[("/a~1b", "required"), ("/c~1d~0", "additionalProperties"), ("/~0x", "type")],
        ),
        (
            json!({ "type": "string", "minLength": 3, "pattern": "^x", "enum": ["xyz"], "const": "xyz" }),
            json!("a"),
            &[("", "enum"), ("", "const"), ("", "minLength"), ("", "pattern")],
        ),
    ];
    for (schema, value, expected) in cases {
        let sorted = |mut places: Vec<Place>| {
            places.sort();
            places
        };
        let expected = sorted(
            expected.iter().map(|(at, rule)| ((*at).to_owned(), (*rule).to_owned())).collect(),
        );
        assert_eq!(
            sorted(places(&mut admin, VALUE, &schema, &value).await),
            expected,
            "{schema} of {value}"
        );
        assert_eq!(
            places(&mut admin, SCHEMA, &schema, &json!([])).await,
            [],
            "{schema} is of the subset"
        );
    }
}

/// EVT-1: a keyword that would be ignored is refused, wherever it stands; so is one that says nothing sensible. The model
/// refuses the same at the same places.
#[tokio::test]
async fn schemas_outside_the_subset_are_named_by_place() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({ "$ref": "#/x" }), &["/$ref"]),
        (json!({ "oneOf": [] }), &["/oneOf"]),
        (json!({ "format": "uri", "minProperties": 1 }), &["/format", "/minProperties"]),
        (json!({ "exclusiveMinimum": 0 }), &["/exclusiveMinimum"]),
        (json!(true), &[""]),
        (json!("object"), &[""]),
        (json!(null), &[""]),
        (json!({ "type": "text" }), &["/type"]),
        (json!({ "type": [] }), &["/type"]),
        (json!({ "type": ["string", 1] }), &["/type"]),
        (json!({ "type": ["string", null] }), &["/type"]),
        (json!({ "type": null }), &["/type"]),
        (json!({ "required": "name" }), &["/required"]),
        (json!({ "required": [1] }), &["/required"]),
        (json!({ "properties": [] }), &["/properties"]),
        (json!({ "properties": { "a": true } }), &["/properties/a"]),
        (json!({ "additionalProperties": {} }), &["/additionalProperties"]),
        (json!({ "enum": [] }), &["/enum"]),
        (json!({ "enum": "a" }), &["/enum"]),
        (json!({ "minimum": "1" }), &["/minimum"]),
        (json!({ "maximum": null }), &["/maximum"]),
        (json!({ "minLength": -1 }), &["/minLength"]),
        (json!({ "maxLength": 1.5 }), &["/maxLength"]),
        (json!({ "minItems": "1" }), &["/minItems"]),
        (json!({ "maxItems": true }), &["/maxItems"]),
        (json!({ "pattern": 1 }), &["/pattern"]),
        (json!({ "description": 1 }), &["/description"]),
        (json!({ "items": [{ "type": "string" }] }), &["/items"]),
        (json!({ "items": { "items": { "not": {} } } }), &["/items/items/not"]),
        (
            json!({ "properties": { "a/b~c": { "items": { "uniqueItems": true } } } }),
            &["/properties/a~1b~0c/items/uniqueItems"],
        ),
        (json!({ "properties": { "oneOf": { "type": "string" }, "items": {} } }), &[]),
    ];
    for (schema, expected) in cases {
        let found = places(&mut admin, SCHEMA, &schema, &json!([])).await;
        let found: BTreeSet<&str> = found.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(found, expected.iter().copied().collect(), "{schema}");
        let in_the_model = schema_subset::violations(&schema);
        let in_the_model: BTreeSet<&str> =
            in_the_model.iter().map(|violation| violation.pointer.as_str()).collect();
        assert_eq!(in_the_model, found, "the model says the same of {schema}");
    }
    // Only the database knows what its regular expressions look like.
    for pattern in ["(", "[b-a]", "*a", "a{2,1}", "\\"] {
        let found = places(&mut admin, SCHEMA, &json!({ "pattern": pattern }), &json!([])).await;
        assert_eq!(found, [("/pattern".to_owned(), String::new())], "{pattern}");
    }
}

/// EVT-1: five hundred random schemas, four values each, held against a validator written from the specification.
#[tokio::test]
async fn the_database_validates_as_the_specification_says() {
    let db = TestDb::new().await;
    let mut random = StdRng::seed_from_u64(202_012);
    let mut pairs: Vec<(Value, Value)> = Vec::new();
    for _ in 0..500 {
        let schema = schema(&mut random, 3);
        pairs.extend((0..4).map(|_| (schema.clone(), value(&mut random, 3))));
    }
    let documents: Vec<Value> =
        pairs.iter().map(|(schema, value)| json!([schema, value])).collect();
    let found: Vec<(Value, Value)> = sqlx::query_as(
        "select event.value_problems(e.pair -> 0, e.pair -> 1), event.schema_problems(e.pair -> 0)
           from jsonb_array_elements($1) with ordinality e (pair, n) order by e.n",
    )
    .bind(Value::Array(documents))
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("an answer each");
    assert_eq!(found.len(), pairs.len());
    let mut valid = 0;
    for ((schema, value), (problems, outside)) in pairs.iter().zip(&found) {
        assert_eq!(outside, &json!([]), "{schema} is of the subset");
        let mut broken = BTreeSet::new();
        specification::validate(schema, value, "", &mut broken);
        let reported: BTreeSet<Place> = places_in(problems).into_iter().collect();
        assert_eq!(reported.is_empty(), broken.is_empty(), "{schema} of {value}: {problems}");
        // A value of the wrong type is reported as that; what else it breaks is not counted up.
        assert!(reported.is_subset(&broken), "{schema} of {value}: {problems} against {broken:?}");
        valid += usize::from(broken.is_empty());
    }
    assert!(
        (400..1_800).contains(&valid),
        "{valid} of {} values are valid: both verdicts are well represented",
        pairs.len()
    );
}

/// The keywords of the subset, straight from JSON Schema 2020-12 (validation, sections 6.1 to 6.5; core, section 10.3).
mod specification {
    use super::{BTreeSet, PATTERNS, Place, Value};

    pub(super) fn validate(schema: &Value, value: &Value, at: &str, broken: &mut BTreeSet<Place>) {
        let below = |token: &str| format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"));
        let keyword = |name: &str| schema.get(name);
        let size = |name: &str| {
            keyword(name)
                .map(|size| usize::try_from(size.as_u64().expect("a size")).expect("small"))
        };
        let mut rule = |name: &str, holds: bool| {
            if !holds {
                broken.insert((at.to_owned(), name.to_owned()));
            }
        };
        if let Some(types) = keyword("type") {
            let single = std::slice::from_ref(types);
            let types = types.as_array().map_or(single, Vec::as_slice);
            rule(
                "type",
                types.iter().any(|name| is_of_type(value, name.as_str().expect("a name"))),
            );
        }
        if let Some(allowed) = keyword("enum") {
            rule("enum", allowed.as_array().expect("a list").iter().any(|one| equal(one, value)));
        }
        if let Some(only) = keyword("const") {
            rule("const", equal(only, value));
        }
        if let Some(number) = value.as_f64() {
            rule(
                "minimum",
                keyword("minimum").is_none_or(|bound| number >= bound.as_f64().expect("a number")),
            );
            rule(
                "maximum",
                keyword("maximum").is_none_or(|bound| number <= bound.as_f64().expect("a number")),
            );
        }
        if let Some(text) = value.as_str() {
            let length = text.chars().count();
            rule("minLength", size("minLength").is_none_or(|bound| length >= bound));
            rule("maxLength", size("maxLength").is_none_or(|bound| length <= bound));
            let matches = |pattern: &Value| {
                let known =
                    PATTERNS.iter().find(|(text, _)| pattern == text).expect("a known pattern");
                known.1(text)
            };
            rule("pattern", keyword("pattern").is_none_or(matches));
        }
        if let Some(items) = value.as_array() {
            rule("minItems", size("minItems").is_none_or(|bound| items.len() >= bound));
            rule("maxItems", size("maxItems").is_none_or(|bound| items.len() <= bound));
            if let Some(schema) = keyword("items") {
                for (n, item) in items.iter().enumerate() {
                    validate(schema, item, &below(&n.to_string()), broken);
                }
            }
        }
        if let Some(members) = value.as_object() {
            for name in keyword("required").and_then(Value::as_array).into_iter().flatten() {
                let name = name.as_str().expect("a name");
                if !members.contains_key(name) {
                    broken.insert((below(name), "required".to_owned()));
                }
            }
            for (name, member) in members {
                match keyword("properties").and_then(|properties| properties.get(name)) {
                    Some(schema) => validate(schema, member, &below(name), broken),
                    None if keyword("additionalProperties") == Some(&Value::Bool(false)) => {
                        broken.insert((below(name), "additionalProperties".to_owned()));
                    }
                    None => {}
                }
            }
        }
    }

    fn is_of_type(value: &Value, name: &str) -> bool {
        match name {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other} is no type"),
        }
    }

    /// Numbers are equal when they have the same mathematical value; members have no order.
    fn equal(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| equal(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one
                        .iter()
                        .all(|(name, one)| other.get(name).is_some_and(|other| equal(one, other)))
            }
            _ => one == other,
        }
    }
}

type Matches = fn(&str) -> bool;

/// Patterns with what they mean, so that the test needs no second engine of regular expressions.
const PATTERNS: [(&str, Matches); 6] = [
    ("^a", |text| text.starts_with('a')),
    ("b$", |text| text.ends_with('b')),
    ("1", |text| text.contains('1')),
    ("^[ab]*$", |text| text.chars().all(|c| c == 'a' || c == 'b')),
    ("^.{2}$", |text| text.chars().count() == 2),
    ("ö|😀", |text| text.contains(['ö', '😀'])),
];

const NAMES: [&str; 5] = ["a", "b", "ö", "x/y", "~"];
const NUMBERS: [f64; 7] = [-1.5, -1.0, 0.0, 0.5, 1.0, 2.0, 1e15];

fn chosen<T: Clone>(random: &mut StdRng, from: &[T]) -> T {
    from.choose(random).expect("something to choose from").clone()
}

fn value(random: &mut StdRng, depth: u32) -> Value {
    match random.gen_range(0..if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.r#gen::<bool>()),
        2 => json!(chosen(random, &NUMBERS)),
        3 => json!(random.gen_range(-2..3)),
        4 => {
            let length = random.gen_range(0..4);
            Value::String(
                (0..length).map(|_| chosen(random, &['a', 'b', '1', 'ö', '😀'])).collect(),
            )
        }
        5 => (0..random.gen_range(0..4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let mut members = Map::new();
            for _ in 0..random.gen_range(0..4) {
                members.insert(chosen(random, &NAMES).to_owned(), value(random, depth - 1));
            }
            Value::Object(members)
        }
    }
}

/// A schema of the subset. Each keyword is rare: with all of them at once nothing would be valid.
fn schema(random: &mut StdRng, depth: u32) -> Value {
    const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    let mut schema = Map::new();
    let mut say = |keyword: &str, value: Value| {
        schema.insert(keyword.to_owned(), value);
    };
    if random.gen_bool(0.1) {
        say("type", json!(chosen(random, &TYPES)));
    } else if random.gen_bool(0.4) {
        let several: Vec<&str> = TYPES.choose_multiple(random, 5).copied().collect();
        say("type", json!(several));
    }
    for (keyword, bound) in [("minLength", 2), ("maxLength", 4), ("minItems", 2), ("maxItems", 4)] {
        if random.gen_bool(0.15) {
            say(keyword, json!(random.gen_range(0..bound)));
        }
    }
    for keyword in ["minimum", "maximum"] {
        if random.gen_bool(0.15) {
            say(keyword, json!(chosen(random, &NUMBERS)));
        }
    }
    if random.gen_bool(0.15) {
        say("pattern", json!(chosen(random, &PATTERNS).0));
    }
    if random.gen_bool(0.05) {
        say("const", value(random, 1));
    }
    if random.gen_bool(0.1) {
        let allowed: Vec<Value> = (0..random.gen_range(1..12)).map(|_| value(random, 1)).collect();
        say("enum", json!(allowed));
    }
    if random.gen_bool(0.2) {
        let required: Vec<&str> = NAMES.choose_multiple(random, 2).copied().collect();
        say("required", json!(required));
    }
    if random.gen_bool(0.2) {
        say("additionalProperties", json!(random.r#gen::<bool>()));
    }
    if depth > 0 {
        if random.gen_bool(0.5) {
            let mut properties = Map::new();
            for _ in 0..random.gen_range(0..5) {
                properties
                    .insert(chosen(random, &NAMES).to_owned(), self::schema(random, depth - 1));
            }
            say("properties", Value::Object(properties));
        }
        if random.gen_bool(0.4) {
            say("items", self::schema(random, depth - 1));
        }
    }
    Value::Object(schema)
}

/// What `event.payload_problems` says of a payload of `letter.checked`, which has no schema to speak of.
async fn breaks(connection: &mut PgConnection, payload: &Value) -> Value {
    let problems: Value = sqlx::query_scalar("select event.payload_problems('letter.checked', $1)")
        .bind(payload)
        .fetch_one(connection)
        .await
        .expect("an answer");
    problems.get(0).map_or(json!([]), |problem| {
        assert_eq!(problem["code"], json!("RE002"));
        assert_eq!(problem["event_type"], json!("letter.checked"));
        problem["breaks"].clone()
    })
}

/// EVT-1: events carry references, never bodies or secrets, however deep they are hidden; the refusal does not repeat them.
#[tokio::test]
async fn denied_keys_are_found_at_any_depth() {
    let (db, _store) = letters().await;
    let mut admin = db.superuser().await;
    for key in schema_subset::DENIED_KEYS {
        let hidden = json!({ "list": [[{ "deep": { key.to_uppercase(): "s3cr3t" } }]] });
        let found = breaks(&mut admin, &hidden).await;
        assert_eq!(
            found,
            json!([{ "rule": "denied_keys", "keys": [key.to_uppercase()] }]),
            "{key}"
        );
        assert!(!found.to_string().contains("s3cr3t"));
    }
    let several = json!({ "token": 1, "a": { "body": 2, "token": 3 } });
    assert_eq!(
        breaks(&mut admin, &several).await,
        json!([{ "rule": "denied_keys", "keys": ["body", "token"] }])
    );
    for harmless in
        [json!({}), json!({ "bodyguard": "token", "list": ["password"], "content_ref": "IU-1" })]
    {
        assert_eq!(breaks(&mut admin, &harmless).await, json!([]), "{harmless}");
    }
}

/// EVT-1: a payload is small; the limit itself is still allowed.
#[tokio::test]
async fn a_payload_has_a_limit() {
    let (db, _store) = letters().await;
    let mut admin = db.superuser().await;
    let envelope = r#"{"a": ""}"#.len();
    let fits = json!({ "a": "x".repeat(16_384 - envelope) });
    assert_eq!(breaks(&mut admin, &fits).await, json!([]));
    let too_large = json!({ "a": "x".repeat(16_384 - envelope + 1) });
    assert_eq!(
        breaks(&mut admin, &too_large).await,
        json!([{ "rule": "max_bytes", "given": 16_385 }])
    );
    // Bytes, not characters.
    let wide = json!({ "a": "ệ".repeat(16_384 / 3) });
    assert_eq!(breaks(&mut admin, &wide).await[0]["rule"], json!("max_bytes"));
}
