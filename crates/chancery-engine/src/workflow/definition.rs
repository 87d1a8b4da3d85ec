//! The file of a definition. What a good one is, the database says; here it only has to be YAML or JSON.

use std::fs;
use std::path::Path;

use chancery_model::machine::ParseError;
use serde_json::Value;

use crate::Error;

/// Reads a definition from a file.
///
/// # Errors
/// When the file cannot be read, or is neither YAML nor JSON: then with the place where it stops being so.
pub fn read(path: &Path) -> Result<Value, Error> {
    let text =
        fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    parse(&text).map_err(|source| Error::Parse { path: path.to_owned(), source })
}

/// The document that a text means.
///
/// # Errors
/// Where it stops being YAML, and why.
pub fn parse(text: &str) -> Result<Value, ParseError> {
    // JSON is YAML. Read as YAML's own value first: that one does not let a key stand twice.
    let yaml: serde_yaml_ng::Value =
        serde_yaml_ng::from_str(text).map_err(|error| ParseError::from(&error))?;
    let value = serde_json::to_value(yaml).map_err(|error| ParseError {
        line: None,
        column: None,
        message: error.to_string(),
    })?;
    if has_nul(&value) {
        let message = "a text in it has a NUL character".to_owned();
        return Err(ParseError { line: None, column: None, message });
    }
    Ok(value)
}

/// PostgreSQL keeps no NUL in a text.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_and_json_mean_the_same() {
        let yaml = "workflow: letter\nsteps:\n  - { key: write, title: { en: Write, vi: Viết } }\n";
        let same = r#"{"workflow": "letter", "steps": [{"key": "write", "title": {"en": "Write", "vi": "Viết"}}]}"#;
        assert_eq!(parse(yaml), parse(same));
        assert_eq!(parse("a: &x {b: 1}\nc: *x"), Ok(json!({ "a": { "b": 1 }, "c": { "b": 1 } })));
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        let wrong = parse("workflow: letter\nsteps: [{]\n").expect_err("it is none");
        assert_eq!(wrong.line, Some(2), "{wrong}");
        let wrong = parse("a: 1\na: 2\n").expect_err("a key stands twice");
        assert!(wrong.message.contains("duplicate"), "{wrong}");
        let wrong = parse("a: \"x\\0y\"\n").expect_err("PostgreSQL could not keep it");
        assert!(wrong.message.contains("NUL"), "{wrong}");
    }

    /// A text that means an enormous document is refused before it is one.
    #[test]
    fn a_bomb_does_not_go_off() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let before = vec![format!("*a{}", n - 1); 10].join(", ");
            text.push_str(&format!("a{n}: &a{n} [{before}]\n"));
        }
        assert!(parse(&text).is_err());
    }
}
