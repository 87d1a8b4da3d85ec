//! What a run has pinned, and the names under which nothing may be pinned.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Number, Value};

use super::error::Error;

/// Words that make a name that of a secret; compared without a plural `s`.
const SECRET_WORDS: &[&str] = &[
    "accesskey",
    "apikey",
    "bearer",
    "connstring",
    "cookie",
    "credential",
    "cred",
    "dsn",
    "jwt",
    "kms",
    "passphrase",
    "passwd",
    "password",
    "pgpassfile",
    "pgpassword",
    "privatekey",
    "privkey",
    "pwd",
    "secret",
    "secretkey",
    "token",
];

/// Words that are harmless alone, but not beside each other.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("access", "key"),
    ("api", "key"),
    ("connection", "string"),
    ("conn", "string"),
    ("database", "url"),
    ("db", "url"),
    ("encryption", "key"),
    ("pass", "phrase"),
    ("pass", "word"),
    ("private", "key"),
    ("secret", "key"),
    ("session", "key"),
    ("ssh", "key"),
];

/// The largest whole number that every reader of JSON keeps exact.
pub(super) const EXACT: u64 = (1 << 53) - 1;

/// How deep a pin may be nested. serde_json reads 128 levels, and a pin stands inside the run.
const DEEPEST: usize = 100;

/// What the run found when it began, to be compared with what it finds later.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub struct Pins(IndexMap<String, Value>);

impl Pins {
    /// Pins a value, in place of an earlier one with this key; secrets are refused.
    pub fn pin(&mut self, key: &str, value: Value) -> Result<(), Error> {
        if let Some(key) = secret_name(key, &value) {
            return Err(Error::SecretPin { key: key.to_owned() });
        }
        let value = normal(value).map_err(|why| Error::BadPin { key: key.to_owned(), why })?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// In the order in which they were first pinned.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gets a value past the guard, as a mistake in this module would.
    #[cfg(test)]
    pub(super) fn smuggle(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }
}

impl Serialize for Pins {
    /// Leaves out once more what [`Pins::pin`] refuses: a file is read by more people than a process's memory.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plain = self.0.iter().filter(|(key, _)| !is_secret(key));
        serializer.collect_map(plain.map(|(key, value)| (key, without_secrets(value))))
    }
}

/// The key of a secret: this one, or one inside the value.
fn secret_name<'a>(key: &'a str, value: &'a Value) -> Option<&'a str> {
    if is_secret(key) {
        return Some(key);
    }
    match value {
        Value::Object(members) => members.iter().find_map(|(key, value)| secret_name(key, value)),
        Value::Array(items) => items.iter().find_map(|item| secret_name("", item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let plain = members.iter().filter(|(key, _)| !is_secret(key));
            Value::Object(plain.map(|(key, value)| (key.clone(), without_secrets(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_secrets).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether a name is that of a secret, by its words: `db_password` and `apiKey` are, `tokenizer` and `passed` are not.
fn is_secret(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || words.windows(2).any(|two| SECRET_PAIRS.contains(&(two[0].as_str(), two[1].as_str())))
}

/// The words of a name in lower case and without a plural `s`: cut at every other sign, at digits and at `camelCase`.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (n, &char) in chars.iter().enumerate() {
        let before = n.checked_sub(1).map(|n| chars[n]);
        let after = chars.get(n + 1);
        let new_word = char.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                // The last capital of several begins the next word: `APIKey`.
                || before.is_some_and(char::is_uppercase) && after.is_some_and(|c| c.is_lowercase()));
        if new_word || !char.is_alphabetic() {
            words.push(String::new());
        }
        if char.is_alphabetic() {
            words.last_mut().expect("there is always one").extend(char.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        // `access` and `pass` are no plurals.
        if word.ends_with('s') && !word.ends_with("ss") && word != "kms" {
            word.pop();
        }
    }
    words
}

/// The value as the file will give it back, with one way to write each number; or why it can't be kept.
///
/// The digest is taken over canonical JSON, where `1.0` is `1` and whole numbers beyond 2^53 are rounded. Without this,
/// such a number could be edited with no change of the digest.
pub(super) fn normal(value: Value) -> Result<Value, &'static str> {
    normal_to(DEEPEST, value)
}

fn normal_to(depth: usize, value: Value) -> Result<Value, &'static str> {
    let inside = |value| {
        let depth = depth.checked_sub(1).ok_or("is nested too deeply to be read again")?;
        normal_to(depth, value)
    };
    Ok(match value {
        Value::Number(number) => Value::Number(normal_number(number).ok_or(
            "holds a whole number beyond 2^53, which readers of JSON round: pin it as text",
        )?),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(inside).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let members =
                members.into_iter().map(|(key, value)| inside(value).map(|value| (key, value)));
            Value::Object(members.collect::<Result<Map<_, _>, _>>()?)
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    })
}

fn normal_number(number: Number) -> Option<Number> {
    let whole = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    if let Some(whole) = whole {
        return (whole <= EXACT).then_some(number);
    }
    let double = number.as_f64()?;
    if double.fract() != 0.0 {
        return Some(number);
    }
    // Written without an exponent, a whole double that is small enough reads as an integer.
    let text = format!("{double:.0}");
    let whole = if text == "-0" { 0 } else { text.parse::<i64>().ok()? };
    (whole.unsigned_abs() <= EXACT).then(|| Number::from(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// ORC-5: a pin refuses keys that look like secrets, wherever they stand.
    #[test]
    fn names_of_secrets_are_refused() {
        for key in [
            "password",
            "PASSWORD",
            "db_password",
            "dbPassword",
            "passwords",
            "PGPASSWORD",
            "passwd",
            "user.passwd",
            "secret",
            "client-secret",
            "clientSecrets",
            "token",
            "access_token",
            "accessTokens",
            "bearer",
            "dsn",
            "SENTRY_DSN",
            "api_key",
            "apikey",
            "apiKey",
            "APIKey",
            "API-KEY",
            "x api key",
            "private_key",
            "privateKeys",
            "kms",
            "kmsKeyId",
            "credential",
            "credentials",
            "aws.credentials",
            "secret2",
            "password1",
            "DATABASE_URL",
            "connectionString",
            "pass_phrase",
        ] {
            for value in [json!({ key: "x" }), json!([[{ "a": { key: 1 } }]])] {
                let mut pins = Pins::default();
                let refused = pins.pin("plain", value).unwrap_err();
                assert!(matches!(&refused, Error::SecretPin { key: named } if named == key));
                assert_eq!(refused.stop_code(), "STOP_PIN_REFUSED");
            }
            let mut pins = Pins::default();
            assert!(pins.pin(key, json!("hunter2")).is_err(), "{key}");
            assert!(pins.is_empty());
        }
    }

    #[test]
    fn the_names_a_run_needs_are_taken() {
        let mut pins = Pins::default();
        for key in [
            "manifest_digest",
            "region_sha",
            "writer_digest",
            "backup_sha",
            "backup_key_fingerprint",
            "address_prefix",
            "address_prefix_rows",
            "md5_prosrc_fn_iu_create",
            "review_decision_rows",
            "idempotency_key_set",
            "public_key",
            "cut_authorization",
            "passed",
            "tokenizer",
            "secretary",
            "compass",
            "",
        ] {
            pins.pin(key, json!({ "value": [1, "two", null, true] })).unwrap();
        }
        assert_eq!(pins.iter().count(), 17);
        assert_eq!(pins.iter().next().unwrap().0, "manifest_digest", "in the order of pinning");
        pins.pin("manifest_digest", json!("new")).unwrap();
        assert_eq!(pins.iter().next(), Some(("manifest_digest", &json!("new"))));
    }

    #[test]
    fn what_got_past_the_guard_is_not_written() {
        let mut pins = Pins::default();
        pins.smuggle("password", json!("hunter2"));
        pins.smuggle("plain", json!({ "a": [{ "token": "hunter2", "b": 1 }] }));
        let text = serde_json::to_string(&pins).unwrap();
        assert_eq!(text, r#"{"plain":{"a":[{"b":1}]}}"#);
    }

    #[test]
    fn numbers_have_one_form_or_are_refused() {
        for (given, kept) in [
            (json!(1.0), "1"),
            (json!(-0.0), "0"),
            (json!(-3.0), "-3"),
            (json!(0.1), "0.1"),
            (json!(9_007_199_254_740_991_u64), "9007199254740991"),
            (json!(-9_007_199_254_740_991_i64), "-9007199254740991"),
        ] {
            let mut pins = Pins::default();
            pins.pin("n", given).unwrap();
            assert_eq!(pins.get("n").unwrap().to_string(), kept);
        }
        for given in [
            json!(9_007_199_254_740_993_u64),
            json!(-9_007_199_254_740_993_i64),
            json!(u64::MAX),
            json!(1e300),
            json!({ "in": [9_007_199_254_740_992.0] }),
        ] {
            let refused = Pins::default().pin("n", given).unwrap_err();
            assert!(matches!(refused, Error::BadPin { .. }), "{refused}");
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_refused() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        Pins::default().pin("deep", nested(100)).unwrap();
        let refused = Pins::default().pin("deep", nested(101)).unwrap_err();
        assert!(refused.to_string().contains("nested too deeply"), "{refused}");
    }
}
