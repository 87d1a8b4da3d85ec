//! Documents of the knowledge base. Each function has the name of the door it calls.

mod pages;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{ISO, Signed, decode};
use crate::{Error, Store};

/// A text that is to be the newest revision of its path.
#[derive(Debug, Clone, Copy)]
pub struct Put<'a> {
    pub path: &'a str,
    pub kind: &'a str,
    pub body: &'a str,
    /// The revision that it was written on; 0 for a new document, `None` for whatever is there.
    pub expected_revision: Option<i32>,
    pub principal: &'a str,
    pub actor_class: &'a str,
}

/// A signature that is to stand under a revision.
#[derive(Debug, Clone)]
pub struct Sign {
    pub signature_id: Uuid,
    pub path: String,
    pub revision: i32,
    pub meaning: String,
    pub principal: String,
    pub actor_class: String,
    /// Microseconds since 1970.
    pub signed_at: i64,
    pub payload: String,
    /// Without a key the door says what is missing.
    pub signed: Option<Signed>,
}

/// What a door answers about a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionReport {
    pub path: String,
    pub revision: i32,
    pub kind: String,
    /// Hex.
    pub sha256: String,
    pub author: String,
    /// Done before; nothing was done twice.
    pub replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
}

/// A revision without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionRow {
    pub path: String,
    pub revision: i32,
    pub kind: String,
    /// Hex.
    pub sha256: String,
    pub bytes: i32,
    pub author: String,
    pub created_at: String,
    /// How many signatures stand under it.
    pub signatures: i64,
}

/// A signature under a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureRow {
    pub signature_id: Uuid,
    pub revision: i32,
    pub signer: String,
    pub meaning: String,
    pub key_id: Uuid,
    /// Hex.
    pub public_key: String,
    pub signature_payload: String,
    /// Hex.
    pub signature: String,
    pub recorded_at: String,
}

impl Store {
    /// Writes a text as the newest revision of its path.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_kb_put(&self, put: &Put<'_>) -> Result<RevisionReport, Error> {
        let report: Value = sqlx::query_scalar("select kb.fn_kb_put($1, $2, $3, $4, $5, $6)")
            .bind(put.path)
            .bind(put.kind)
            .bind(put.body)
            .bind(put.expected_revision)
            .bind(put.principal)
            .bind(put.actor_class)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// Puts a signature under a revision.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_kb_sign(&self, sign: &Sign) -> Result<RevisionReport, Error> {
        let report: Value =
            sqlx::query_scalar("select kb.fn_kb_sign($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
                .bind(sign.signature_id)
                .bind(&sign.path)
                .bind(sign.revision)
                .bind(&sign.meaning)
                .bind(&sign.principal)
                .bind(&sign.actor_class)
                .bind(sign.signed.as_ref().map(|s| s.key_id))
                .bind(sign.signed_at)
                .bind(&sign.payload)
                .bind(sign.signed.as_ref().map(|s| &s.signature))
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// The revisions of one document, or of all that lie below a folder; everything without a path. By path and number.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kb_revisions(&self, path: Option<&str>) -> Result<Vec<RevisionRow>, Error> {
        let all: Value = sqlx::query_scalar(
            r#"select coalesce(jsonb_agg(jsonb_build_object(
                        'path', r.path, 'revision', r.revision, 'kind', r.kind, 'sha256', encode(r.sha256, 'hex'),
                        'bytes', octet_length(r.body), 'author', r.author, 'created_at', to_char(r.created_at at time zone 'UTC', $2),
                        'signatures', (select count(*) from kb.v_revision_signature s where s.path = r.path and s.revision = r.revision))
                      order by r.path collate "C", r.revision), '[]')
                 from kb.v_revision r where $1::text is null or r.path = $1 or starts_with(r.path, $1 || '/')"#,
        )
        .bind(path)
        .bind(ISO)
        .fetch_one(&self.pool)
        .await?;
        decode(all)
    }

    /// The text of a revision.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kb_body(&self, path: &str, revision: i32) -> Result<Option<String>, Error> {
        let body = sqlx::query_scalar(
            "select r.body from kb.v_revision r where r.path = $1 and r.revision = $2",
        );
        Ok(body.bind(path).bind(revision).fetch_optional(&self.pool).await?)
    }

    /// The digest of the row of each revision of a document, by number.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kb_row_digests(&self, path: &str) -> Result<Vec<(i32, Vec<u8>)>, Error> {
        let rows = sqlx::query_as(
            "select r.revision, r.row_digest from kb.v_revision r where r.path = $1 order by r.revision",
        );
        Ok(rows.bind(path).fetch_all(&self.pool).await?)
    }

    /// The signatures under a document's revisions, in the order in which they came.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn kb_signatures(&self, path: &str) -> Result<Vec<SignatureRow>, Error> {
        let all: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(jsonb_build_object(
                      'signature_id', s.signature_id, 'revision', s.revision, 'signer', s.signer, 'meaning', s.meaning, 'key_id', s.key_id,
                      'public_key', coalesce(k.public_key, ''), 'signature_payload', s.signature_payload,
                      'signature', encode(s.signature, 'hex'), 'recorded_at', to_char(s.recorded_at at time zone 'UTC', $2))
                    order by s.revision, s.recorded_at, s.signature_id), '[]')
               from kb.v_revision_signature s left join identity.v_signing_key k using (key_id) where s.path = $1",
        )
        .bind(path)
        .bind(ISO)
        .fetch_one(&self.pool)
        .await?;
        decode(all)
    }
}
