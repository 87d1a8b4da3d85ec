//! JSON given on the command line: inline, from a file (`@FILE`) or from stdin (`@-`).

use std::io::Read as _;

use chancery_model::strict_json;
use serde_json::Value;

use crate::failure::Failure;

/// Reads the document that an argument names. It never reaches the database when it is not JSON.
pub(crate) fn read(what: &str, argument: &str) -> Result<Value, Failure> {
    let (place, text) = match argument.strip_prefix('@') {
        None => (String::new(), argument.to_owned()),
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|error| Failure::Usage(format!("{what}: stdin can't be read: {error}")))?;
            ("stdin: ".to_owned(), text)
        }
        Some(file) => {
            let read = std::fs::read_to_string(file);
            (
                format!("{file}: "),
                read.map_err(|error| Failure::Usage(format!("{what}: {file}: {error}")))?,
            )
        }
    };
    strict_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        // The library repeats the place in its text; one place is enough.
        let why =
            message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message);
        Failure::Usage(format!("{what} is not JSON: {place}line {line} column {column}: {why}"))
    })
}

/// As [`read`], for an argument that may be left out.
pub(crate) fn read_optional(what: &str, argument: Option<&str>) -> Result<Option<Value>, Failure> {
    argument.map(|argument| read(what, argument)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(argument: &str) -> String {
        match read("evidence", argument) {
            Err(Failure::Usage(message)) => message,
            other => panic!("{argument} gave {other:?}"),
        }
    }

    #[test]
    fn what_is_not_json_is_told_with_its_place() {
        assert_eq!(refused("{bad"), "evidence is not JSON: line 1 column 2: key must be a string");
        assert_eq!(refused("{}\n{}"), "evidence is not JSON: line 2 column 1: trailing characters");
        assert_eq!(
            refused(r#"{"amount": 9, "amount": 900}"#),
            "evidence is not JSON: line 1 column 22: duplicate member \"amount\""
        );
        assert_eq!(refused(""), "evidence is not JSON: line 1 column 0: EOF while parsing a value");
        assert!(refused("@no/such/file").starts_with("evidence: no/such/file: "));
    }
}
