//! The text of `state.json`: there is exactly one for each run, and no other is taken.

use chancery_model::{canonical, strict_json};
use serde::de::{Deserialize as _, IgnoredAny};
use serde_json::Value;
use serde_json::error::Category;

use super::error::Error;
use super::folder::Folder;
use super::pins;
use super::record::{Run, SchemaVersion};

const DIGEST: &str = "sidecar_sha256";

/// The text of a run. The digest over all else stands last.
pub(super) fn of(run: &Run) -> String {
    let mut value = serde_json::to_value(run).expect("a run is plain data with text for keys");
    let digest = hex::encode(canonical::sha256(&value));
    value.as_object_mut().expect("a run is an object").insert(DIGEST.to_owned(), digest.into());
    let text = serde_json::to_string_pretty(&value).expect("values are plain data");
    format!("{text}\n")
}

/// Reads a run, when this is exactly what [`of`] wrote for it.
pub(super) fn read(bytes: &[u8], folder: &Folder) -> Result<Run, Error> {
    let run_id = folder.run_id();
    let corrupt = |what: String| Error::Corrupt { run_id, path: folder.state(), what };
    let edited = |what: &str| Error::Edited { run_id, path: folder.state(), what: what.to_owned() };

    let text = str::from_utf8(bytes).map_err(|_| corrupt("is not text".to_owned()))?;
    if text.trim().is_empty() {
        return Err(corrupt("is empty".to_owned()));
    }
    let of_json = |error: serde_json::Error| corrupt(described(&error));
    serde_json::from_str::<IgnoredAny>(text).map_err(of_json)?;
    // Which key it is is not repeated: nothing of the text is.
    let mut value =
        strict_json::from_str(text).map_err(|error| corrupt(place("has a key twice", &error)))?;

    // The version before the fields: those of another version are not ours to judge.
    match value.get("schema_version") {
        Some(version) if *version == SchemaVersion::NUMBER => {}
        Some(Value::Number(version)) => {
            return Err(Error::Version {
                path: folder.state(),
                found: version.to_string(),
                known: SchemaVersion::NUMBER,
            });
        }
        _ => return Err(corrupt("has no schema version".to_owned())),
    }
    let stated = value.as_object_mut().and_then(|members| members.shift_remove(DIGEST));
    let Some(Value::String(stated)) = stated else {
        return Err(corrupt(format!("has no {DIGEST}")));
    };
    let run = Run::deserialize(&value)
        .map_err(|_| corrupt("has a field too many, too few, or with a wrong value".to_owned()))?;
    // Canonical JSON would hide it: there `1.0` is `1`, and large numbers are rounded.
    if pins::normal(value.clone()).as_ref() != Ok(&value) {
        return Err(corrupt("has a number in a form that it is never given".to_owned()));
    }
    if hex::encode(canonical::sha256(&value)) != stated {
        return Err(edited("does not fit its digest"));
    }
    if run.run_id != run_id {
        return Err(edited("is the file of another run"));
    }
    // Catches what the digest of the values can't see: blanks, the order of the fields, another spelling of a time.
    if of(&run) != text {
        return Err(edited("is not written as this program writes it"));
    }
    Ok(run)
}

/// What is wrong with the text, without repeating any of it.
fn described(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => place("ends too early", error),
        Category::Syntax => place("is not JSON", error),
        Category::Data | Category::Io => place("has a field that does not belong there", error),
    }
}

fn place(what: &str, error: &serde_json::Error) -> String {
    format!("{what} (line {}, column {})", error.line(), error.column())
}
