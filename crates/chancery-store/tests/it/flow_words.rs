//! Definitions of workflows as tests write them, and what a refusal names.

use chancery_model::canonical;
use chancery_model::refusal::Code;
use chancery_store::Error;
use serde_json::{Value, json};

// ── definitions ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

pub(crate) fn title(text: &str) -> Value {
    json!({ "en": text, "vi": text })
}

/// An object with more fields.
pub(crate) fn plus(mut object: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("an object, not {more}") };
    for (field, value) in more {
        object[field] = value;
    }
    object
}

/// A step with these fields beside its key and title.
pub(crate) fn step(key: &str, more: Value) -> Value {
    plus(json!({ "key": key, "title": title(key) }), more)
}

/// A step of a person's.
pub(crate) fn human(key: &str) -> Value {
    step(key, json!({}))
}

/// A step of a worker's.
pub(crate) fn noop(key: &str) -> Value {
    step(key, json!({ "executor": "noop" }))
}

/// `a > b`, `a and> b`, `a or> b`; a condition is given as `(ways, rule)` by [`when`].
pub(crate) fn way(text: &str) -> Value {
    let parts: Vec<&str> = text.split(' ').collect();
    let [from, kind, to] = parts[..] else { panic!("FROM KIND> TO, not {text}") };
    match kind.trim_end_matches('>') {
        "" => json!({ "from": from, "to": to }),
        kind => json!({ "from": from, "to": to, "kind": kind }),
    }
}

pub(crate) fn when(from: &str, to: &str, rule: &str) -> Value {
    json!({ "from": from, "to": to, "kind": "condition", "when": rule })
}

/// A definition of these steps and ways; the first step is the first one.
pub(crate) fn workflow(name: &str, steps: Vec<Value>, ways: Vec<Value>) -> Value {
    json!({ "workflow": name, "title": title(name), "steps": Value::Array(steps), "relations": Value::Array(ways) })
}

/// A definition of one step.
pub(crate) fn single(name: &str, more: Value) -> Value {
    workflow(name, vec![step("work", more)], vec![])
}

pub(crate) fn sha(document: &Value) -> Vec<u8> {
    canonical::sha256(document).to_vec()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What a refusal names: its codes, and for a guard its name.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) -> Vec<String> {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    refusal.problems.iter().map(|problem| named(problem.code, problem.facts.get("guard"))).collect()
}

pub(crate) fn named(code: Code, guard: Option<&Value>) -> String {
    match guard.and_then(Value::as_str) {
        Some(guard) => guard.to_owned(),
        None => code.as_str().to_owned(),
    }
}

/// The facts of the first problem.
#[track_caller]
pub(crate) fn facts<T: std::fmt::Debug>(answer: Result<T, Error>) -> Value {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    Value::Object(refusal.problems[0].facts.clone())
}
