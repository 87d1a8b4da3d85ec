//! Which schemas the database's validator understands.

use chancery_model::machine::schema_subset::{denied_keys, violations};
use serde_json::{Value, json};

#[track_caller]
fn refused_at(schema: &Value, pointers: &[&str]) {
    let found: Vec<_> = violations(schema).into_iter().map(|v| v.pointer).collect();
    assert_eq!(found, pointers, "{schema}");
}

#[test]
fn the_whole_subset_is_accepted() {
    let schema = json!({
        "description": "all keywords there are",
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": ["string", "null"], "minLength": 1, "maxLength": 9, "pattern": "^a" },
            "size": { "type": "number", "minimum": -0.5, "maximum": 9 },
            "kind": { "enum": ["a", 1, null] },
            "fixed": { "const": { "any": ["thing"] } },
            "list": { "type": "array", "items": { "type": "integer" }, "minItems": 0, "maxItems": 5 }
        }
    });
    refused_at(&schema, &[]);
    refused_at(&json!({}), &[]);
}

#[test]
fn other_keywords_are_refused_wherever_they_stand() {
    refused_at(&json!({ "$ref": "#/x" }), &["/$ref"]);
    refused_at(&json!({ "oneOf": [] }), &["/oneOf"]);
    refused_at(
        &json!({ "properties": { "a/b~c": { "items": { "format": "uri" } } } }),
        &["/properties/a~1b~0c/items/format"],
    );
}

#[test]
fn known_keywords_with_other_meanings_are_refused() {
    refused_at(&json!({ "type": "text" }), &["/type"]);
    refused_at(&json!({ "type": [] }), &["/type"]);
    refused_at(&json!({ "required": "name" }), &["/required"]);
    refused_at(&json!({ "properties": [] }), &["/properties"]);
    refused_at(
        &json!({ "additionalProperties": { "type": "string" } }),
        &["/additionalProperties"],
    );
    refused_at(&json!({ "enum": [] }), &["/enum"]);
    refused_at(&json!({ "minimum": "1" }), &["/minimum"]);
    refused_at(&json!({ "maxLength": -1 }), &["/maxLength"]);
    refused_at(&json!({ "minItems": 1.5 }), &["/minItems"]);
    refused_at(&json!({ "pattern": 1 }), &["/pattern"]);
}

#[test]
fn a_schema_is_an_object() {
    refused_at(&json!(true), &[""]);
    refused_at(&json!({ "items": [{ "type": "string" }] }), &["/items"]);
    refused_at(&json!({ "properties": { "a": false } }), &["/properties/a"]);
}

#[test]
fn denied_keys_are_found_at_any_depth() {
    let schema = json!({
        "required": ["id", "token"],
        "properties": {
            "id": { "type": "string" },
            "parts": { "items": { "properties": { "Body": {} } } }
        }
    });
    let found: Vec<_> = denied_keys(&schema).into_iter().map(|v| v.pointer).collect();
    assert_eq!(found, ["/required/1", "/properties/parts/items/properties/Body"]);
}

/// A property that is called like a keyword is a name, not a rule.
#[test]
fn property_names_are_not_keywords() {
    refused_at(&json!({ "properties": { "oneOf": { "type": "string" }, "items": {} } }), &[]);
    assert!(denied_keys(&json!({ "description": "no body, no token" })).is_empty());
}
