//! Rows of evidence as they are stored: every column, as the text that its digest is over.

use std::collections::BTreeMap;

use chancery_model::evidence;
use sqlx::postgres::{PgRow, PgValueFormat};
use sqlx::{Column as _, Row as _, TypeInfo as _, ValueRef as _};
use uuid::Uuid;

use crate::Error;

/// Microseconds from 1970 to 2000, from where PostgreSQL counts.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

/// A row of an evidence table: times as microseconds since 1970, bytes as lower hex, everything else as PostgreSQL writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceRow {
    /// The table, not the view it was read through.
    pub table: &'static str,
    pub columns: BTreeMap<String, Option<String>>,
}

impl EvidenceRow {
    /// Reads every column there is, so that none can be forgotten.
    pub(crate) fn read(table: &'static str, row: &PgRow) -> Result<Self, Error> {
        let mut columns = BTreeMap::new();
        for (n, column) in row.columns().iter().enumerate() {
            let type_name = column.type_info().name();
            let value = match type_name {
                "UUID" => row.try_get::<Option<Uuid>, _>(n)?.map(|id| id.to_string()),
                "INT2" => row.try_get::<Option<i16>, _>(n)?.map(|number| number.to_string()),
                "INT4" => row.try_get::<Option<i32>, _>(n)?.map(|number| number.to_string()),
                "INT8" => row.try_get::<Option<i64>, _>(n)?.map(|number| number.to_string()),
                "BOOL" => row.try_get::<Option<bool>, _>(n)?.map(|truth| truth.to_string()),
                "BYTEA" => row.try_get::<Option<Vec<u8>>, _>(n)?.map(hex::encode),
                "TIMESTAMPTZ" => micros(row, n)?.map(|micros| micros.to_string()),
                "TEXT" => row.try_get::<Option<String>, _>(n)?,
                other => {
                    return Err(Error::Schema(format!(
                        "{table}.{} has the type {other}, which no evidence has",
                        column.name()
                    )));
                }
            };
            columns.insert(column.name().to_owned(), value);
        }
        Ok(Self { table, columns })
    }

    /// The digest that the row must carry; nothing when it is of no version that this release knows.
    pub fn digest(&self) -> Option<[u8; 32]> {
        evidence::row_digest(self.table, &self.columns)
    }

    /// As [`EvidenceRow::digest`], in hex; empty where there is none.
    pub fn expected_digest(&self) -> String {
        self.digest().map(hex::encode).unwrap_or_default()
    }

    /// The digest that it carries, in hex.
    pub fn stored_digest(&self) -> &str {
        self.columns.get(evidence::DIGEST_COLUMN).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Whether the row is as it was stamped.
    pub fn fits(&self) -> bool {
        evidence::row_faults(self.table, &self.columns).is_empty()
    }

    /// A column; `None` when it is null.
    pub fn get(&self, column: &str) -> Option<&str> {
        self.columns.get(column).and_then(Option::as_deref)
    }

    /// A column that is not null; one that is, although it cannot be, reads as the empty text and will not fit anything.
    pub fn text(&self, column: &str) -> &str {
        self.get(column).unwrap_or_default()
    }

    /// A column that holds an id.
    pub fn uuid(&self, column: &str) -> Option<Uuid> {
        self.get(column)?.parse().ok()
    }

    /// A column that holds a number, or a time in microseconds.
    pub fn number(&self, column: &str) -> Option<i64> {
        self.get(column)?.parse().ok()
    }

    /// A column that holds bytes.
    pub fn bytes(&self, column: &str) -> Option<Vec<u8>> {
        hex::decode(self.get(column)?).ok()
    }

    /// A column that holds a SHA-256.
    pub fn sha256(&self, column: &str) -> Option<[u8; 32]> {
        self.bytes(column)?.try_into().ok()
    }
}

/// A time as it goes over the wire: microseconds, whatever the session's time zone.
fn micros(row: &PgRow, n: usize) -> Result<Option<i64>, Error> {
    let value = row.try_get_raw(n)?;
    if value.is_null() {
        return Ok(None);
    }
    let name = row.column(n).name();
    let unfit = || Error::Schema(format!("{name} is no time that this binary knows"));
    if value.format() != PgValueFormat::Binary {
        return Err(unfit());
    }
    let bytes = value.as_bytes().map_err(|_| unfit())?;
    let since_2000 = i64::from_be_bytes(bytes.try_into().map_err(|_| unfit())?);
    // The two infinities lie at the ends; they are no times and stay recognisable.
    Ok(Some(since_2000.saturating_add(POSTGRES_EPOCH)))
}
