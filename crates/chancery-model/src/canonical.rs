//! RFC 8785 canonical JSON: the bytes that are stored, hashed and signed.
//!
//! `internal.canonical_json` makes the same bytes in PostgreSQL; both are tested with `tests/fixtures/canonical.json`.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The canonical text of a JSON value.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

/// SHA-256 of the canonical text.
pub fn sha256(value: &Value) -> [u8; 32] {
    Sha256::digest(to_string(value).as_bytes()).into()
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => {
            // I-JSON numbers are doubles; what does not fit loses precision here exactly as it does in ECMAScript.
            let double = number.as_f64().expect("serde_json numbers are finite");
            out.push_str(ryu_js::Buffer::new().format(double));
        }
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            // Members are ordered by UTF-16 code units, which differs from byte order beyond the basic plane.
            sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            out.push('{');
            for (n, (key, member)) in sorted.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(member, out);
            }
            out.push('}');
        }
    }
}

pub(crate) fn write_string(text: &str, out: &mut String) {
    // serde_json escapes exactly what RFC 8785 asks for: the two-character forms, and \u00xx for other controls.
    out.push_str(&serde_json::to_string(text).expect("a string always serialises"));
}
