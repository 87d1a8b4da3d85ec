//! The OpenAPI document that is committed is the one that the code makes, and it keeps the house rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use chancery_api::openapi::{document, path_names};
use chancery_api::{Method, routes};
use serde_json::Value;

#[test]
fn the_committed_document_is_what_the_code_makes() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../api/openapi.json");
    let text = fs::read_to_string(path).expect("api/openapi.json");
    let made = serde_json::to_string_pretty(&document(env!("CARGO_PKG_VERSION"))).expect("JSON");
    assert!(text.trim_end() == made, "api/openapi.json is not what the code makes: run `make api`");
}

/// Names are used once, paths have their parameters, every reference leads somewhere, and reading needs no body.
#[test]
fn routes_keep_the_house_rules() {
    let mut ids = BTreeSet::new();
    let mut places = BTreeSet::new();
    for route in routes() {
        assert!(ids.insert(route.id), "two routes are called {}", route.id);
        assert!(places.insert((route.path, route.method)), "{} is there twice", route.path);
        assert!(
            route.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{}",
            route.id
        );
        assert!(route.summary.ends_with('.'), "{}: one sentence", route.id);
        let names: Vec<&str> = path_names(route.path).collect();
        assert_eq!(names.len(), route.path.matches('{').count(), "{}", route.path);
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len(), "{}", route.path);
        if route.method == Method::Get {
            assert!(!route.writes && !route.signed && route.body.is_none(), "{}", route.id);
        }
    }
    let document = document("0");
    let mut references = Vec::new();
    collect(&document, &mut references);
    for reference in references {
        let pointer = reference.strip_prefix('#').expect("nothing lies elsewhere");
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                references.push(reference.clone());
            }
            members.values().for_each(|member| collect(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
