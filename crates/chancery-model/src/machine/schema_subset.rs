//! The JSON Schema subset that event payloads are described in.
//!
//! The database checks payloads with one small validator; a keyword it does not know would be
//! silently ignored there, so such a schema is refused here, before it is stored.

use serde_json::{Map, Value};

/// Names a payload may not carry: it holds references, never bodies or secrets.
pub const DENIED_KEYS: [&str; 10] = [
    "body",
    "content",
    "raw",
    "vector",
    "embedding",
    "secret",
    "token",
    "password",
    "ssn",
    "personal_data",
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// A place in a schema and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the schema; empty for the schema itself.
    pub pointer: String,
    pub message: String,
}

/// Every place where the schema leaves the subset, in document order.
pub fn violations(schema: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, "", &mut |keyword, value, pointer| {
        if let Err(message) = check_keyword(keyword, value) {
            found.push(Violation { pointer: pointer.to_owned(), message });
        }
    });
    found
}

/// Every place where the schema names a denied key as a property, at any depth.
pub fn denied_keys(schema: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, "", &mut |keyword, value, pointer| {
        let named: Vec<(String, &str)> = match (keyword, value) {
            ("properties", Some(Value::Object(properties))) => {
                properties.keys().map(|name| (child(pointer, name), name.as_str())).collect()
            }
            ("required", Some(Value::Array(names))) => names
                .iter()
                .enumerate()
                .filter_map(|(index, name)| Some((format!("{pointer}/{index}"), name.as_str()?)))
                .collect(),
            _ => Vec::new(),
        };
        for (pointer, name) in named {
            if DENIED_KEYS.contains(&name.to_ascii_lowercase().as_str()) {
                found.push(Violation { pointer, message: format!("{name} may not be carried") });
            }
        }
    });
    found
}

/// Calls `visit(keyword, value, pointer)` for every keyword of the schema and its sub-schemas.
///
/// What should be a schema and is not an object is visited with an empty keyword.
fn walk(schema: &Value, pointer: &str, visit: &mut dyn FnMut(&str, Option<&Value>, &str)) {
    let Value::Object(keywords) = schema else {
        visit("", None, pointer);
        return;
    };
    for (keyword, value) in keywords {
        let here = child(pointer, keyword);
        visit(keyword, Some(value), &here);
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => walk_properties(properties, &here, visit),
            ("items", items) => walk(items, &here, visit),
            _ => {}
        }
    }
}

fn walk_properties(
    properties: &Map<String, Value>,
    pointer: &str,
    visit: &mut dyn FnMut(&str, Option<&Value>, &str),
) {
    for (name, schema) in properties {
        walk(schema, &child(pointer, name), visit);
    }
}

fn check_keyword(keyword: &str, value: Option<&Value>) -> Result<(), String> {
    let Some(value) = value else {
        return Err("a schema is an object".to_owned());
    };
    let (fits, wanted) = match keyword {
        "type" => (is_type(value), "a type name or a list of type names"),
        "required" => (is_string_list(value), "a list of property names"),
        "properties" => (value.is_object(), "an object of schemas"),
        "additionalProperties" => (value.is_boolean(), "true or false"),
        "enum" => (value.as_array().is_some_and(|v| !v.is_empty()), "a list with a value"),
        "minimum" | "maximum" => (value.is_number(), "a number"),
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            (value.is_u64(), "a whole number from 0")
        }
        "format" => (value == "date-time", "date-time"),
        "pattern" | "description" => (value.is_string(), "a string"),
        // `items` is looked at as a schema of its own; `const` may be anything.
        "items" | "const" => (true, ""),
        other => return Err(format!("{other} is not a keyword of the subset")),
    };
    if fits { Ok(()) } else { Err(format!("{keyword} must be {wanted}")) }
}

fn is_type(value: &Value) -> bool {
    let is_name = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_name),
        single => is_name(single),
    }
}

fn is_string_list(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

/// Appends a reference token, escaped as RFC 6901 says.
fn child(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}
