//! The knowledge base: documents in immutable revisions, signed by those who stand by them, and as a folder of files.

mod folder;

pub use folder::{Difference, Exported, Imported, export, import};

use chancery_model::envelope::Statement;
use chancery_model::kb::{Signature, signature_payload};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::kb::{Put, RevisionReport, RevisionRow, Sign, SignatureRow};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::cutter::refused;
use crate::run::Actor;

/// Who writes.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    pub principal: &'a str,
    pub actor_class: &'a str,
}

/// A revision with its text and what stands under it.
#[derive(Debug, Clone, Serialize)]
pub struct Document {
    #[serde(flatten)]
    pub revision: RevisionRow,
    pub body: String,
    pub signed: Vec<SignatureRow>,
}

/// Writes a text as the newest revision of its path.
///
/// # Errors
/// The database's refusal; RA020 also for bytes that are no text.
pub async fn put(
    store: &Store,
    writer: Writer<'_>,
    path: &str,
    kind: &str,
    bytes: &[u8],
    expected_revision: Option<i32>,
) -> Result<RevisionReport, Error> {
    let body = match std::str::from_utf8(bytes) {
        Ok(body) if !body.contains('\0') => body,
        other => {
            let (reason, offset) = match other {
                Ok(body) => ("nul_character", body.find('\0').unwrap_or_default()),
                Err(error) => ("not_utf8", error.valid_up_to()),
            };
            let facts = json!({ "path": path, "kind": kind, "reason": reason, "offset": offset });
            return Err(refused(store, Code::RA020, facts).await);
        }
    };
    let Writer { principal, actor_class } = writer;
    Ok(store
        .fn_kb_put(&Put { path, kind, body, expected_revision, principal, actor_class })
        .await?)
}

/// A revision of a document, the newest one when no number is named. `None` when there is none.
///
/// # Errors
/// When there is no answer.
pub async fn get(
    store: &Store,
    path: &str,
    revision: Option<i32>,
) -> Result<Option<Document>, Error> {
    let mut revisions = store.kb_revisions(Some(path)).await?;
    revisions.retain(|row| row.path == path && revision.is_none_or(|n| n == row.revision));
    let Some(revision) = revisions.pop() else { return Ok(None) };
    let Some(body) = store.kb_body(path, revision.revision).await? else { return Ok(None) };
    let mut signed = store.kb_signatures(path).await?;
    signed.retain(|signature| signature.revision == revision.revision);
    Ok(Some(Document { revision, body, signed }))
}

/// The newest revision of every document at a path or below it.
///
/// # Errors
/// When there is no answer.
pub async fn list(store: &Store, prefix: Option<&str>) -> Result<Vec<RevisionRow>, Error> {
    let mut newest: Vec<RevisionRow> = Vec::new();
    for row in store.kb_revisions(prefix.and_then(folder_of)).await? {
        match newest.last_mut() {
            Some(last) if last.path == row.path => *last = row,
            _ => newest.push(row),
        }
    }
    Ok(newest)
}

/// A folder by its name, with or without the slash behind it; the empty name is everything.
fn folder_of(prefix: &str) -> Option<&str> {
    let folder = prefix.trim_end_matches('/');
    (!folder.is_empty()).then_some(folder)
}

/// Puts the actor's signature under a revision, the newest one when no number is named. What is signed is the digest of the text
/// that was read, computed here.
///
/// # Errors
/// The database's refusal.
pub async fn sign(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    path: &str,
    revision: Option<i32>,
    meaning: &str,
) -> Result<RevisionReport, Error> {
    let document = get(store, path, revision).await?;
    // Of a revision that is not there, the door says so.
    let revision = document.as_ref().map(|d| d.revision.revision).or(revision).unwrap_or_default();
    let sha256: [u8; 32] =
        document.map_or_else(Default::default, |d| Sha256::digest(d.body.as_bytes()).into());
    let (signature_id, signed_at) = (actor.new_id("signature"), actor.signing_time());
    let payload = signature_payload(&Signature {
        signature_id,
        path,
        revision,
        sha256: &sha256,
        meaning,
        principal: &actor.principal,
        key_id: actor.key_id().unwrap_or_default(),
        signed_at,
    });
    Ok(store
        .fn_kb_sign(&Sign {
            signature_id,
            path: path.to_owned(),
            revision,
            meaning: meaning.to_owned(),
            principal: actor.principal.clone(),
            actor_class: actor_class.to_owned(),
            signed_at,
            signed: actor.sign_statement(&Statement::kb(payload.clone()))?,
            payload,
        })
        .await?)
}
