//! Lists in pages. A cursor is opaque: the sort key of the last row, as base64url of JSON.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_api::Page;
use chancery_store::page::After;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::{Fault, Problem};

const USUAL: u16 = 50;
const MOST: u16 = 500;

/// How many rows a page has at most.
pub(crate) fn limit(asked: Option<u16>) -> Result<i64, Problem> {
    match asked.unwrap_or(USUAL) {
        limit @ 1..=MOST => Ok(limit.into()),
        _ => Err(Problem::of(Fault::QueryInvalid, "limit is a number from 1 to 500")),
    }
}

fn malformed() -> Problem {
    Problem::of(Fault::QueryInvalid, "after is what `next` of the page before said")
}

/// The sort key that the page before ended with.
pub(crate) fn after<T: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<T>, Problem> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| malformed())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| malformed())?;
    if has_nul(&value) {
        return Err(malformed());
    }
    serde_json::from_value(value).map(Some).map_err(|_| malformed())
}

/// The same where rows are sorted by time and id.
pub(crate) fn after_time(cursor: Option<&str>) -> Result<Option<After>, Problem> {
    let Some(mut key) = after::<After>(cursor)? else { return Ok(None) };
    let at: Timestamp = key.at.parse().map_err(|_| malformed())?;
    // PostgreSQL reads no years before Christ in this form.
    if at < Timestamp::UNIX_EPOCH {
        return Err(malformed());
    }
    key.at = at.to_string();
    Ok(Some(key))
}

/// PostgreSQL keeps no such text.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.values().any(has_nul),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A page of the rows that were found when one more was asked for than it holds.
pub(crate) fn page<R: Serialize, A: DeserializeOwned, K: Serialize>(
    mut rows: Vec<R>,
    limit: i64,
    key: impl Fn(&R) -> K,
) -> Result<Page<A>, Problem> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|last| {
        let key = serde_json::to_vec(&key(last)).expect("a sort key is plain data");
        BASE64_URL_SAFE_NO_PAD.encode(key)
    });
    let items = rows.iter().map(told).collect::<Result<_, _>>()?;
    Ok(Page { items, next })
}

/// What the caller is told about a row of the store: ids get their prefixes, and what the answer does not name stays here.
pub(crate) fn told<A: DeserializeOwned>(row: impl Serialize) -> Result<A, Problem> {
    let told = serde_json::to_value(row).and_then(serde_json::from_value);
    told.map_err(|error| {
        tracing::error!(%error, "a row is not what the answer says it is");
        Problem::of(Fault::Internal, "nothing more is told here")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_what_a_page_gave_or_refused() {
        let row = After { at: "2026-01-02T03:04:05.678901Z".to_owned(), id: uuid::Uuid::nil() };
        let two = vec![row.clone(), row.clone()];
        let first: Page<After> = page(two, 1, Clone::clone).expect("a page");
        assert_eq!(first.items, [row.clone()]);
        let next = first.next.expect("there is more");
        assert_eq!(after_time(Some(&next)).expect("a cursor"), Some(row.clone()));
        let last: Page<After> = page(vec![row], 1, Clone::clone).expect("a page");
        assert_eq!(last.next, None);
        let text = |json: &str| BASE64_URL_SAFE_NO_PAD.encode(json);
        for wrong in [
            "",
            "x",
            "%",
            &text("{}"),
            &text("null"),
            &text(r#"{"at":"now","id":"00000000-0000-0000-0000-000000000000"}"#),
            &text(
                r#"{"at":"-000001-01-01T00:00:00Z","id":"00000000-0000-0000-0000-000000000000"}"#,
            ),
            &text(r#"{"at":"2026-01-02T03:04:05Z","id":"1; drop table x"}"#),
        ] {
            assert!(after_time(Some(wrong)).is_err(), "{wrong}");
        }
        assert!(after::<String>(Some(&text(r#""a\u0000""#))).is_err());
        assert!(limit(Some(0)).is_err() && limit(Some(501)).is_err());
        assert_eq!(limit(None).expect("the usual"), 50);
    }
}
