//! JSON from outside, in which no object has a member twice: of two values, each reader would take the one it likes.
//!
//! `serde_json` keeps the last one without a word, PostgreSQL's `jsonb` too, and others the first. A signature or a check over one reading
//! would then stand under another.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Number, Value};

/// What the message of [`Error`] says about a member that stands twice.
pub const DUPLICATE: &str = "duplicate member";

/// Reads a document.
///
/// # Errors
/// When it is not JSON, or an object in it has a member twice.
pub fn from_slice(bytes: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(bytes).map(|Strict(value)| value)
}

/// As [`from_slice`].
///
/// # Errors
/// As [`from_slice`].
pub fn from_str(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(de::Error::custom(format_args!("{DUPLICATE} {name:?}")));
            }
            let Strict(member) = map.next_value()?;
            members.insert(name, member);
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-2: two readers never see two documents in one text.
    #[test]
    fn an_object_with_a_member_twice_is_refused_at_any_depth() {
        for bad in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"[{"b": {"a": 1, "b": [], "a": 2}}]"#,
            r#"{"": 1, "": 2}"#,
        ] {
            let why = from_str(bad).expect_err(bad).to_string();
            assert!(why.starts_with(DUPLICATE), "{bad}: {why}");
            assert_eq!(from_slice(bad.as_bytes()).expect_err(bad).to_string(), why);
        }
    }

    #[test]
    fn every_other_document_is_what_serde_json_reads() {
        for good in [
            "null",
            "true",
            "-0",
            "-0.0",
            "18446744073709551615",
            "-9223372036854775808",
            "1e-324",
            "0.1",
            r#""\ud83d\ude00 Phở""#,
            r#"{"b": 1, "a": [{"b": 1}, {"b": 2}], "c": {"b": null}}"#,
        ] {
            let (strict, loose) = (from_str(good), serde_json::from_str::<Value>(good));
            let strict = strict.expect(good);
            assert_eq!(strict, loose.expect(good));
            assert_eq!(
                strict.to_string(),
                serde_json::from_str::<Value>(good).expect(good).to_string()
            );
        }
        for bad in ["", "{", "{} {}", "{'a': 1}", r#""\ud800""#, "1e999", "nul"] {
            let strict = from_str(bad).expect_err(bad).to_string();
            let loose = serde_json::from_str::<Value>(bad).expect_err(bad).to_string();
            assert_eq!(strict, loose, "{bad}");
        }
    }
}
