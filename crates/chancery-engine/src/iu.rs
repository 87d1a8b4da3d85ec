//! Source documents, and the units that live.

use chancery_document::{Cut, CutError, Profile};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::iu::{DocumentRow, SourceAdded, SourceVersion, UnitRow};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::cutter::refused;

/// A document that is to be stored.
#[derive(Debug, Clone, Default)]
pub struct NewDocument<'a> {
    pub document_id: &'a str,
    /// May be left out for a new version of a document.
    pub prefix: Option<&'a str>,
    /// `text/markdown` or `text/plain`.
    pub media_type: &'a str,
    pub body: &'a [u8],
    /// What its text looks like, by default.
    pub profile: Option<Profile>,
}

/// A stored document, and how it would be cut.
#[derive(Debug, Clone)]
pub struct AddedDocument {
    pub source: SourceAdded,
    pub cut: Cut,
}

/// Stores a document, or a new version of one. It is cut in memory first: what cannot be cut is refused and nothing is stored.
///
/// # Errors
/// RI022 when it cannot be cut, RC022 when it would be cut into too many units, and the door's own refusals.
pub async fn add_document(
    store: &Store,
    principal: &str,
    document: &NewDocument<'_>,
) -> Result<AddedDocument, Error> {
    let known = store.documents(Some(document.document_id)).await?.into_iter().next();
    let prefix = document.prefix.map(str::to_owned).or_else(|| known.map(|known| known.prefix));
    let add = async |units: Option<i64>| {
        store
            .source_add_cut(
                document.document_id,
                document.prefix,
                document.media_type,
                document.body,
                principal,
                units,
            )
            .await
    };
    // Without a usable prefix there is nothing to cut under; the door says what is wrong with it.
    let Some(prefix) = prefix else { return Err(unusable_prefix(add(None).await)) };
    let cut = match cut_bytes(document.body, &prefix, document.profile) {
        Ok(cut) => cut,
        Err(CutError::BadPrefix { .. }) => return Err(unusable_prefix(add(None).await)),
        Err(error) => return Err(unfit(store, document.document_id, &error).await),
    };
    let units = i64::try_from(cut.units.len()).ok();
    Ok(AddedDocument { source: add(units).await?, cut })
}

fn unusable_prefix(answer: Result<SourceAdded, chancery_store::Error>) -> Error {
    match answer {
        Err(error) => error.into(),
        Ok(added) => chancery_store::Error::Schema(format!(
            "the database took the prefix {}, which this binary does not know as one",
            added.prefix
        ))
        .into(),
    }
}

/// All documents, by name.
///
/// # Errors
/// When there is no answer.
pub async fn documents(store: &Store) -> Result<Vec<DocumentRow>, Error> {
    Ok(store.documents(None).await?)
}

/// The live units of a document, in its order. `None` when there is no such document.
///
/// # Errors
/// When there is no answer.
pub async fn units(store: &Store, document_id: &str) -> Result<Option<Vec<UnitRow>>, Error> {
    let Some(document) = store.documents(Some(document_id)).await?.into_iter().next() else {
        return Ok(None);
    };
    Ok(Some(store.units(&document.prefix).await?))
}

/// The text of a document, put together from its live units: the source that was cut, byte for byte. `None` when there is no such
/// document or it has no units.
///
/// # Errors
/// When there is no answer.
pub async fn cat(store: &Store, document_id: &str) -> Result<Option<String>, Error> {
    let units = units(store, document_id).await?.unwrap_or_default();
    if units.is_empty() {
        return Ok(None);
    }
    Ok(Some(units.into_iter().map(|unit| unit.body).collect()))
}

/// A version of a document as it was given; the newest one when no number is named.
///
/// # Errors
/// When there is no answer.
pub async fn source(
    store: &Store,
    document_id: &str,
    version: Option<i32>,
) -> Result<Option<SourceVersion>, Error> {
    Ok(store.source_of(document_id, version).await?)
}

/// Cuts bytes; what cannot be cut is a refusal in the database's words.
pub(crate) async fn cut_source(
    store: &Store,
    document_id: &str,
    prefix: &str,
    body: &[u8],
    profile: Option<Profile>,
) -> Result<Cut, Error> {
    match cut_bytes(body, prefix, profile) {
        Ok(cut) => Ok(cut),
        Err(error) => Err(unfit(store, document_id, &error).await),
    }
}

pub(crate) fn cut_bytes(
    body: &[u8],
    prefix: &str,
    profile: Option<Profile>,
) -> Result<Cut, CutError> {
    // No bytes are no text that could lack structure.
    let text = chancery_document::source_text(body)?;
    chancery_document::cut(text, prefix, profile)
}

async fn unfit(store: &Store, document_id: &str, error: &CutError) -> Error {
    let mut facts = Map::new();
    let mut fact = |name: &str, value: Value| facts.insert(name.to_owned(), value);
    fact("document", json!(document_id));
    match error {
        CutError::InvalidUtf8 { offset, line } => {
            fact("reason", json!("not_utf8"));
            fact("line", json!(line));
            fact("offset", json!(offset));
        }
        CutError::NulCharacter { offset, line } => {
            fact("reason", json!("nul_character"));
            fact("line", json!(line));
            fact("offset", json!(offset));
        }
        CutError::Empty => {
            fact("reason", json!("empty"));
        }
        CutError::NoStructure { profile } => {
            fact("reason", json!("no_structure"));
            fact("profile", json!(profile));
        }
        CutError::BadPrefix { prefix } => {
            fact("reason", json!("bad_prefix"));
            fact("prefix", json!(prefix));
        }
        CutError::AddressCollision {
            address,
            first_line,
            first_offset,
            second_line,
            second_offset,
        } => {
            fact("reason", json!("address_collision"));
            fact("address", json!(address));
            fact("first_line", json!(first_line));
            fact("first_offset", json!(first_offset));
            fact("line", json!(second_line));
            fact("offset", json!(second_offset));
        }
    }
    fact("advice", json!(error.hint()));
    refused(store, Code::RI022, Value::Object(facts)).await
}
