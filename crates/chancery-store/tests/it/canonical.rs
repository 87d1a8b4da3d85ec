//! Both sides make the same bytes: RFC 8785 and the hash of a log row, in Rust and in PostgreSQL.

use std::fmt::Write as _;

use chancery_model::canonical;
use chancery_model::chain::LogRow;
use chancery_model::refusal::Code::RS014;
use chancery_store::Error;
use chancery_testkit::{TestDb, repo_path};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::support::codes;

#[derive(serde::Deserialize)]
struct Fixture {
    vectors: Vec<Vector>,
    out_of_reach: Vec<OutOfReach>,
}

#[derive(serde::Deserialize)]
struct Vector {
    why: String,
    json: String,
    canonical: String,
}

#[derive(serde::Deserialize)]
struct OutOfReach {
    why: String,
    json: String,
}

fn fixture() -> Fixture {
    let path = repo_path("crates/chancery-model/tests/fixtures/canonical.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the fixture")).expect("a fixture")
}

/// What the database makes of each text; its short way for plain evidence must say the same.
async fn in_postgres(connection: &mut PgConnection, texts: &[String]) -> Vec<String> {
    let made: Vec<(String, String)> = sqlx::query_as(
        "select internal.canonical_json(t.text::jsonb), internal.canonical_evidence(t.text::jsonb, t.text::jsonb::text)
           from unnest($1::text[]) with ordinality t (text, n) order by t.n",
    )
    .bind(texts)
    .fetch_all(connection)
    .await
    .expect("the canonical texts");
    let whole = |(long, short): (String, String)| {
        assert_eq!(long, short, "both ways give the same bytes");
        long
    };
    made.into_iter().map(whole).collect()
}

/// AUD-1: the vectors that the model is held against.
#[tokio::test]
async fn the_vectors_of_the_rfc_hold_in_the_database() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    let vectors = fixture().vectors;
    let texts: Vec<String> = vectors.iter().map(|vector| vector.json.clone()).collect();
    let expected: Vec<String> = vectors.iter().map(|vector| vector.canonical.clone()).collect();
    let made = in_postgres(&mut admin, &texts).await;
    let differing: Vec<String> = vectors
        .iter()
        .zip(&made)
        .filter(|(vector, made)| vector.canonical != **made)
        .map(|(vector, made)| {
            format!("{}: {} should be {}, is {made}", vector.why, vector.json, vector.canonical)
        })
        .collect();
    assert_eq!(differing, Vec::<String>::new());
    assert_eq!(
        in_postgres(&mut admin, &expected).await,
        expected,
        "canonical text is a fixed point"
    );
}

/// FSM-5: a number that would not come back as it went is refused; it is never rounded to another one.
#[tokio::test]
async fn numbers_out_of_reach_are_refused() {
    let db = TestDb::new().await;
    let mut admin = db.superuser().await;
    for OutOfReach { why, json } in fixture().out_of_reach {
        let answer = sqlx::query("select internal.canonical_json($1::text::jsonb)")
            .bind(&json)
            .execute(&mut admin)
            .await;
        assert_eq!(codes(answer.map_err(Error::from)), [RS014], "{why}: {json}");
    }
}

/// AUD-1: two thousand values of every shape.
#[tokio::test]
async fn random_values_have_the_same_bytes_on_both_sides() {
    let db = TestDb::new().await;
    let mut random = StdRng::seed_from_u64(8_785);
    let mut values: Vec<Value> = (0..2_000).map(|_| value(&mut random, 4)).collect();
    values.extend((0..200).map(|_| json!({ text(&mut random): text(&mut random) })));
    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
    let made = in_postgres(&mut db.superuser().await, &texts).await;
    for (value, made) in values.iter().zip(&made) {
        assert_eq!(canonical::to_string(value), *made, "{value}");
    }
}

/// AUD-1: numbers as people and other programs write them, read from the same text by both.
#[tokio::test]
async fn random_numbers_are_read_alike_on_both_sides() {
    let db = TestDb::new().await;
    let mut random = StdRng::seed_from_u64(754);
    let texts: Vec<String> = (0..4_000).map(|_| spelled_number(&mut random)).collect();
    let made = in_postgres(&mut db.superuser().await, &texts).await;
    for (text, made) in texts.iter().zip(&made) {
        let value: Value = serde_json::from_str(text).expect("a number");
        assert_eq!(canonical::to_string(&value), *made, "{text}");
    }
}

/// AUD-1: the database chains what the audit recomputes.
#[tokio::test]
async fn random_log_rows_have_the_same_hash_on_both_sides() {
    let db = TestDb::new().await;
    let mut random = StdRng::seed_from_u64(256);
    let rows: Vec<LogRow> = (0..500).map(|_| log_row(&mut random)).collect();
    let documents: Vec<Value> = rows.iter().map(document).collect();
    let hashes: Vec<Vec<u8>> = sqlx::query_scalar(
        "select internal.log_hash(
                  r.run_id, r.seq, r.log_id, r.run_kind, r.state_machine_id, r.transition_id, r.from_state, r.to_state, r.facet, r.principal,
                  r.actor_class, r.trigger_kind, r.trigger_ref, r.reason, r.evidence, r.event_type, decode(r.artefact_digest, 'hex'),
                  r.idempotency_key, r.key_id, decode(r.signature, 'hex'),
                  timestamptz 'epoch' + interval '1 microsecond' * r.at_micros, decode(r.prev_hash, 'hex'))
           from jsonb_array_elements($1) with ordinality e (row, n),
                jsonb_to_record(e.row) r (
                  run_id uuid, seq bigint, log_id uuid, run_kind text, state_machine_id text, transition_id text, from_state text,
                  to_state text, facet text, principal text, actor_class text, trigger_kind text, trigger_ref text, reason text, evidence text,
                  event_type text, artefact_digest text, idempotency_key text, key_id uuid, signature text, at_micros bigint, prev_hash text)
          order by e.n",
    )
    .bind(Value::Array(documents))
    .fetch_all(&mut db.superuser().await)
    .await
    .expect("hashes");
    assert_eq!(hashes.len(), rows.len());
    for (row, hash) in rows.iter().zip(&hashes) {
        assert_eq!(row.expected_hash().as_slice(), hash, "{row:?}");
    }
}

/// AUD-1: text cannot wander from one column into the next without changing the hash.
#[test]
fn neighbouring_columns_do_not_run_together() {
    let mut random = StdRng::seed_from_u64(1);
    let row =
        LogRow { from_state: Some("ab".into()), to_state: "c".into(), ..log_row(&mut random) };
    let shifted = LogRow { from_state: Some("a".into()), to_state: "bc".into(), ..row.clone() };
    let empty = LogRow { reason: Some(String::new()), ..row.clone() };
    let missing = LogRow { reason: None, ..row.clone() };
    assert_ne!(row.expected_hash(), shifted.expected_hash());
    assert_ne!(
        empty.expected_hash(),
        missing.expected_hash(),
        "nothing said is not an empty saying"
    );
}

/// Characters that two implementations could treat differently.
const CHARACTERS: &[char] = &[
    'a',
    'B',
    'z',
    '0',
    ' ',
    '"',
    '\\',
    '/',
    '{',
    '}',
    ':',
    ',',
    '\'',
    '<',
    '\n',
    '\r',
    '\t',
    '\u{1}',
    '\u{8}',
    '\u{c}',
    '\u{1f}',
    '\u{7f}',
    '\u{80}',
    'ö',
    'ệ',
    '€',
    '\u{2028}',
    '\u{d7ff}',
    '\u{e000}',
    '\u{fb33}',
    '\u{feff}',
    '\u{fffd}',
    '\u{ffff}',
    '\u{10000}',
    '😀',
    '\u{10ffff}',
];

fn text(random: &mut StdRng) -> String {
    let length = random.gen_range(0..8);
    // Half of the texts are plain, as most texts are: they take another way through the database's function.
    let choices = if random.gen_bool(0.5) { &CHARACTERS[..5] } else { CHARACTERS };
    (0..length).map(|_| *choices.choose(random).expect("characters")).collect()
}

fn value(random: &mut StdRng, depth: u32) -> Value {
    match random.gen_range(0..if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(random.r#gen()),
        2 => Value::String(text(random)),
        3 => number(random),
        4 => json!(random.r#gen::<i64>() >> random.gen_range(0..63)),
        5 => Value::Array((0..random.gen_range(0..5)).map(|_| value(random, depth - 1)).collect()),
        _ => {
            let members: Map<String, Value> = (0..random.gen_range(0..6))
                .map(|_| (text(random), value(random, depth - 1)))
                .collect();
            Value::Object(members)
        }
    }
}

/// Any double that both sides accept: whole, fractional, tiny, huge, and those whose shortest text lies half-way.
fn number(random: &mut StdRng) -> Value {
    let double = match random.gen_range(0..5) {
        0 => random.gen_range(-1_000.0..1_000.0),
        1 => f64::from(random.gen_range(1..10_i32)) * 10_f64.powi(random.gen_range(-30..40)),
        2 => (random.r#gen::<u64>() as f64) * 2_f64.powi(random.gen_range(-80..80)),
        3 => f64::from_bits(random.r#gen::<u64>() >> 12), // subnormal
        _ => f64::from_bits(random.r#gen()),
    };
    if double.is_finite() { json!(double) } else { json!(0) }
}

fn spelled_number(random: &mut StdRng) -> String {
    let mut spelled = String::new();
    if random.gen_bool(0.3) {
        spelled.push('-');
    }
    write!(spelled, "{}", random.gen_range(0..1_000_u32)).expect("a string");
    if random.gen_bool(0.8) {
        spelled.push('.');
        for _ in 0..random.gen_range(1..22) {
            write!(spelled, "{}", random.gen_range(0..10_u8)).expect("a string");
        }
    }
    if random.gen_bool(0.5) {
        write!(
            spelled,
            "{}{:+}",
            ["e", "E"][random.gen_range(0..2)],
            random.gen_range(-290..300_i32)
        )
        .expect("a string");
    }
    spelled
}

fn log_row(random: &mut StdRng) -> LogRow {
    fn id(random: &mut StdRng) -> Uuid {
        Uuid::from_u128(random.r#gen())
    }
    fn bytes(random: &mut StdRng) -> Vec<u8> {
        (0..random.gen_range(0..65)).map(|_| random.r#gen()).collect()
    }
    fn maybe<T>(random: &mut StdRng, some: fn(&mut StdRng) -> T) -> Option<T> {
        random.gen_bool(0.5).then(|| some(random))
    }
    LogRow {
        run_id: id(random),
        seq: random.gen_range(1..=i64::MAX),
        log_id: id(random),
        run_kind: text(random),
        state_machine_id: text(random),
        transition_id: text(random),
        from_state: maybe(random, text),
        to_state: text(random),
        facet: maybe(random, text),
        principal: text(random),
        actor_class: text(random),
        trigger_kind: text(random),
        trigger_ref: text(random),
        reason: maybe(random, text),
        evidence: canonical::to_string(&value(random, 2)),
        event_type: maybe(random, text),
        artefact_digest: maybe(random, bytes),
        idempotency_key: text(random),
        key_id: maybe(random, id),
        signature: maybe(random, bytes),
        // From before 1970 to 2200.
        at_micros: random.gen_range(-1_000_000_000_000_000..7_258_118_400_000_000),
        prev_hash: maybe(random, bytes),
        hash: Vec::new(),
        hash_version: 1,
        more: std::collections::BTreeMap::new(),
    }
}

fn document(row: &LogRow) -> Value {
    let hex = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(hex::encode);
    json!({
        "run_id": row.run_id, "seq": row.seq, "log_id": row.log_id, "run_kind": row.run_kind,
        "state_machine_id": row.state_machine_id, "transition_id": row.transition_id, "from_state": row.from_state,
        "to_state": row.to_state, "facet": row.facet, "principal": row.principal, "actor_class": row.actor_class, "trigger_kind": row.trigger_kind,
        "trigger_ref": row.trigger_ref, "reason": row.reason, "evidence": row.evidence, "event_type": row.event_type,
        "artefact_digest": hex(&row.artefact_digest), "idempotency_key": row.idempotency_key, "key_id": row.key_id,
        "signature": hex(&row.signature), "at_micros": row.at_micros, "prev_hash": hex(&row.prev_hash),
    })
}
