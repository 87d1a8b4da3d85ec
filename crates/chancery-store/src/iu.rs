//! Source documents and information units. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use uuid::Uuid;

use crate::birth::CommandStep;
use crate::evidence::EvidenceRow;
use crate::fsm::decode;
use crate::{Error, Store};

/// A document, as [`document_row`] reads it.
macro_rules! document {
    ($rest:literal) => {
        concat!(
            r#"select d.document_id, d.address_docprefix, d.created_by,
                      to_char(d.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at,
                      v.version_seq, v.source_version_id, encode(v.content_sha256, 'hex') as content_sha256, v.byte_length, v.media_type,
                      (select count(*) from iu.v_source_version n where n.document_id = d.document_id) as versions,
                      (select count(*) from iu.v_information_unit u
                        where u.doc_code = d.address_docprefix and u.deleted_at is null) as units
                 from iu.v_source_document d
                 join lateral (select n.version_seq, n.source_version_id, n.content_sha256, n.byte_length, n.media_type
                                 from iu.v_source_version n where n.document_id = d.document_id order by n.version_seq desc limit 1) v on true
                "#,
            $rest
        )
    };
}

mod pages;

pub use pages::{UnitLine, UnitText};

/// What storing a document did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceAdded {
    pub document_id: String,
    pub prefix: String,
    pub source_version_id: Uuid,
    pub version_seq: i32,
    pub media_type: String,
    /// Hex.
    pub content_sha256: String,
    pub byte_length: i32,
    /// The same bytes were there before.
    pub replayed: bool,
}

/// A document with its newest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentRow {
    pub document_id: String,
    pub prefix: String,
    pub created_by: String,
    pub created_at: String,
    /// How many versions there are, and the newest one's number.
    pub versions: i64,
    pub newest_version: i32,
    pub newest_source_version_id: Uuid,
    /// Hex.
    pub newest_sha256: String,
    pub newest_bytes: i32,
    pub media_type: String,
    /// Units that live under its prefix.
    pub units: i64,
}

/// The bytes of a version of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceVersion {
    pub source_version_id: Uuid,
    pub document_id: String,
    pub prefix: String,
    pub version_seq: i32,
    pub media_type: String,
    /// As the row says; whoever relies on it hashes the body.
    pub content_sha256: Vec<u8>,
    pub body: Vec<u8>,
}

/// A live unit with the text that its anchor names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnitRow {
    pub unit_id: Uuid,
    pub address: String,
    pub unit_kind: String,
    pub section_type: String,
    pub title: String,
    pub lifecycle_status: String,
    pub owner_ref: String,
    /// The address of the unit that contains it.
    pub parent: Option<String>,
    pub sort_order: i32,
    pub version_id: Uuid,
    pub version_seq: i32,
    pub content_hash: String,
    /// The version of the source that it was cut from; `None` for a unit made otherwise.
    pub source_version_id: Option<Uuid>,
    pub change_set_id: Option<Uuid>,
    pub body: String,
}

/// A unit that is to be made.
#[derive(Debug, Clone, Default)]
pub struct NewUnit {
    pub canonical_address: String,
    pub title: String,
    pub body: String,
    pub actor: String,
    pub unit_kind: Option<String>,
    pub section_type: Option<String>,
    pub owner_ref: Option<String>,
    pub publication_type: Option<String>,
    pub parent_ref: Option<Uuid>,
    pub sort_order: i32,
    pub tool_revision: Option<String>,
}

/// An enactment of one unit.
#[derive(Debug, Clone)]
pub struct Enactment {
    pub canonical_address: String,
    pub actor: String,
    pub review_decision_id: Uuid,
    pub reason: Option<String>,
    pub tool_revision: Option<String>,
    pub dry_run: bool,
}

/// The rows of the units that a verification looks at.
#[derive(Debug, Clone, Default)]
pub struct UnitEvidence {
    pub units: Vec<EvidenceRow>,
    pub versions: Vec<EvidenceRow>,
    pub lifecycle: Vec<EvidenceRow>,
}

/// A step of a command, for its ledger.
#[derive(Debug, Clone)]
pub struct CommandLog<'a> {
    /// It must stand in the catalogue.
    pub command: &'a str,
    /// `plan`, `apply` or `verify`.
    pub run_mode: &'a str,
    pub phase: &'a str,
    pub ok: bool,
    pub request_hash: &'a [u8],
    pub before: &'a Value,
    pub after: &'a Value,
    pub actor: &'a str,
}

impl Store {
    /// Writes a step into the ledger of commands, once an attempt, and gives the steps of the attempt so far.
    ///
    /// # Errors
    /// The database's refusal: the command is not in the catalogue, or the step before this one has not happened.
    pub async fn fn_dot_iu_command_log(
        &self,
        step: &CommandLog<'_>,
    ) -> Result<Vec<CommandStep>, Error> {
        let steps: Value =
            sqlx::query_scalar("select iu.fn_dot_iu_command_log($1, $2, $3, $4, $5, $6, $7, $8)")
                .bind(step.command)
                .bind(step.run_mode)
                .bind(step.phase)
                .bind(if step.ok { "ok" } else { "failed" })
                .bind(step.request_hash)
                .bind(step.before)
                .bind(step.after)
                .bind(step.actor)
                .fetch_one(&self.pool)
                .await?;
        decode(steps)
    }

    /// Stores a document, or a new version of one.
    ///
    /// # Errors
    /// `Refused` for a malformed name, a prefix that is taken, or bytes that are no text.
    pub async fn fn_source_add(
        &self,
        document_id: &str,
        prefix: Option<&str>,
        media_type: &str,
        body: &[u8],
        principal: &str,
    ) -> Result<SourceAdded, Error> {
        self.source_add_cut(document_id, prefix, media_type, body, principal, None).await
    }

    /// As [`Self::fn_source_add`], for a document that would be cut into so many units.
    ///
    /// # Errors
    /// Also `Refused` when a cut may not have so many.
    pub async fn source_add_cut(
        &self,
        document_id: &str,
        prefix: Option<&str>,
        media_type: &str,
        body: &[u8],
        principal: &str,
        units: Option<i64>,
    ) -> Result<SourceAdded, Error> {
        let added: Value = sqlx::query_scalar("select iu.fn_source_add($1, $2, $3, $4, $5, $6)")
            .bind(document_id)
            .bind(prefix)
            .bind(media_type)
            .bind(body)
            .bind(principal)
            .bind(units)
            .fetch_one(&self.pool)
            .await?;
        decode(added)
    }

    /// Makes a draft unit with its first text; an address that has one is answered with it.
    ///
    /// # Errors
    /// `Refused` when the actor is no executor or the unit lacks something.
    pub async fn fn_iu_create(&self, unit: &NewUnit) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(
            "select iu.fn_iu_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, p_tool_revision => $11)",
        )
        .bind(&unit.canonical_address)
        .bind(&unit.title)
        .bind(&unit.body)
        .bind(&unit.actor)
        .bind(&unit.unit_kind)
        .bind(&unit.section_type)
        .bind(&unit.owner_ref)
        .bind(&unit.publication_type)
        .bind(unit.parent_ref)
        .bind(unit.sort_order)
        .bind(&unit.tool_revision)
        .fetch_one(&self.pool)
        .await?)
    }

    /// What [`Store::fn_iu_create`] would say.
    ///
    /// # Errors
    /// Only when there is no answer; problems are part of it.
    pub async fn fn_iu_create_plan(&self, unit: &NewUnit) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select iu.fn_iu_create_plan($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(&unit.canonical_address)
            .bind(&unit.title)
            .bind(&unit.body)
            .bind(&unit.actor)
            .bind(&unit.unit_kind)
            .bind(&unit.section_type)
            .bind(&unit.owner_ref)
            .bind(&unit.publication_type)
            .bind(unit.parent_ref)
            .fetch_one(&self.pool)
            .await?)
    }

    /// How things stand at an address.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_iu_classify_existing(&self, canonical_address: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select iu.fn_iu_classify_existing($1)")
            .bind(canonical_address)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Keeps a proposed text for a draft unit.
    ///
    /// # Errors
    /// `Refused` when there is no such draft unit, or the id stands for another text.
    pub async fn fn_iu_edit_draft(
        &self,
        draft_id: Uuid,
        canonical_address: &str,
        title: &str,
        body: &str,
        actor: &str,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select iu.fn_iu_edit_draft($1, $2, $3, $4, $5)")
            .bind(draft_id)
            .bind(canonical_address)
            .bind(title)
            .bind(body)
            .bind(actor)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Makes a proposed text the unit's next version.
    ///
    /// # Errors
    /// `Refused` when the draft is unknown or was written against an older text.
    pub async fn fn_iu_apply_edit_draft(
        &self,
        draft_id: Uuid,
        actor: &str,
        review_note: Option<&str>,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select iu.fn_iu_apply_edit_draft($1, $2, $3)")
            .bind(draft_id)
            .bind(actor)
            .bind(review_note)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Enacts a unit on a decision that was made for exactly this.
    ///
    /// # Errors
    /// `Refused` when no decision allows it.
    pub async fn fn_iu_enact(&self, enactment: &Enactment) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select iu.fn_iu_enact($1, $2, $3, 'enacted', null, $4, $5, $6)")
            .bind(&enactment.canonical_address)
            .bind(&enactment.actor)
            .bind(enactment.review_decision_id)
            .bind(&enactment.reason)
            .bind(&enactment.tool_revision)
            .bind(enactment.dry_run)
            .fetch_one(&self.pool)
            .await?)
    }

    /// All documents by name, or the named one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn documents(&self, document_id: Option<&str>) -> Result<Vec<DocumentRow>, Error> {
        let rows = sqlx::query(document!(
            "where $1::text is null or d.document_id = $1 order by d.document_id"
        ))
        .bind(document_id)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(document_row).collect()
    }

    /// A version of a document with its bytes, by its id.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn source_version(
        &self,
        source_version_id: Uuid,
    ) -> Result<Option<SourceVersion>, Error> {
        let row = sqlx::query(
            "select v.source_version_id, v.document_id, d.address_docprefix, v.version_seq, v.media_type, v.content_sha256, v.body
               from iu.v_source_version v join iu.v_source_document d using (document_id) where v.source_version_id = $1",
        )
        .bind(source_version_id)
        .fetch_optional(&self.pool)
        .await?;
        row.as_ref().map(source_version).transpose()
    }

    /// A version of a document with its bytes; the newest one when no number is given.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn source_of(
        &self,
        document_id: &str,
        version_seq: Option<i32>,
    ) -> Result<Option<SourceVersion>, Error> {
        let row = sqlx::query(
            "select v.source_version_id, v.document_id, d.address_docprefix, v.version_seq, v.media_type, v.content_sha256, v.body
               from iu.v_source_version v join iu.v_source_document d using (document_id)
              where v.document_id = $1 and ($2::integer is null or v.version_seq = $2)
              order by v.version_seq desc limit 1",
        )
        .bind(document_id)
        .bind(version_seq)
        .fetch_optional(&self.pool)
        .await?;
        row.as_ref().map(source_version).transpose()
    }

    /// The live units under a prefix with their texts, in the order of the document.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn units(&self, prefix: &str) -> Result<Vec<UnitRow>, Error> {
        let rows = sqlx::query(
            "select u.id, u.canonical_address, u.unit_kind, u.section_type, v.title, u.lifecycle_status, u.owner_ref,
                    p.canonical_address as parent, u.sort_order, v.id as version_id, v.version_seq, v.content_hash, v.body,
                    (u.identity_profile::jsonb #>> '{provenance,source_version_id}')::uuid as source_version_id,
                    (u.identity_profile::jsonb #>> '{provenance,change_set_id}')::uuid as change_set_id
               from iu.v_information_unit u
               join iu.v_unit_version v on v.id = u.version_anchor_ref
               left join iu.v_information_unit p on p.id = u.parent_or_container_ref
              where u.doc_code = $1 and u.deleted_at is null
              order by u.sort_order, u.canonical_address",
        )
        .bind(prefix)
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(UnitRow {
                    unit_id: row.try_get("id")?,
                    address: row.try_get("canonical_address")?,
                    unit_kind: row.try_get("unit_kind")?,
                    section_type: row.try_get("section_type")?,
                    title: row.try_get("title")?,
                    lifecycle_status: row.try_get("lifecycle_status")?,
                    owner_ref: row.try_get("owner_ref")?,
                    parent: row.try_get("parent")?,
                    sort_order: row.try_get("sort_order")?,
                    version_id: row.try_get("version_id")?,
                    version_seq: row.try_get("version_seq")?,
                    content_hash: row.try_get("content_hash")?,
                    source_version_id: row.try_get("source_version_id")?,
                    change_set_id: row.try_get("change_set_id")?,
                    body: row.try_get("body")?,
                })
            })
            .collect()
    }
}

fn document_row(row: &PgRow) -> Result<DocumentRow, Error> {
    Ok(DocumentRow {
        document_id: row.try_get("document_id")?,
        prefix: row.try_get("address_docprefix")?,
        created_by: row.try_get("created_by")?,
        created_at: row.try_get("created_at")?,
        versions: row.try_get("versions")?,
        newest_version: row.try_get("version_seq")?,
        newest_source_version_id: row.try_get("source_version_id")?,
        newest_sha256: row.try_get("content_sha256")?,
        newest_bytes: row.try_get("byte_length")?,
        media_type: row.try_get("media_type")?,
        units: row.try_get("units")?,
    })
}

/// Every row of the units that stand under a prefix or have one of these ids, as stored: the units, their texts and what happened
/// to them. The caller's transaction is one snapshot: a change between two reads would look like a forged row.
pub(crate) async fn unit_evidence(
    connection: &mut PgConnection,
    prefix: &str,
    unit_ids: &[Uuid],
) -> Result<UnitEvidence, Error> {
    let units = sqlx::query(
        "select t.* from iu.v_information_unit t
          where (t.doc_code = $1 and t.deleted_at is null) or t.id = any ($2) order by t.sort_order, t.id",
    )
    .bind(prefix)
    .bind(unit_ids)
    .fetch_all(&mut *connection)
    .await?;
    let units: Vec<EvidenceRow> = units
        .iter()
        .map(|row| EvidenceRow::read("iu.information_unit", row))
        .collect::<Result<_, _>>()?;
    // An anchor may point at another unit's text; then that text is looked at as well.
    let ids = |column: &str| -> Vec<Uuid> {
        units.iter().filter_map(|row| row.get(column)?.parse().ok()).collect()
    };
    let versions = sqlx::query(
        "select t.* from iu.v_unit_version t where t.unit_id = any ($1) or t.id = any ($2) order by t.unit_id, t.version_seq",
    )
    .bind(ids("id"))
    .bind(ids("version_anchor_ref"))
    .fetch_all(&mut *connection)
    .await?;
    let lifecycle = sqlx::query(
        "select t.* from iu.v_iu_lifecycle_log t where t.unit_id = any ($1) or t.unit_id = any ($2) order by t.unit_id, t.seq",
    )
    .bind(ids("id"))
    .bind(unit_ids)
    .fetch_all(connection)
    .await?;
    let read = |table: &'static str, rows: &[PgRow]| {
        rows.iter().map(|row| EvidenceRow::read(table, row)).collect::<Result<Vec<_>, _>>()
    };
    Ok(UnitEvidence {
        versions: read("iu.unit_version", &versions)?,
        lifecycle: read("iu.iu_lifecycle_log", &lifecycle)?,
        units,
    })
}

fn source_version(row: &PgRow) -> Result<SourceVersion, Error> {
    Ok(SourceVersion {
        source_version_id: row.try_get("source_version_id")?,
        document_id: row.try_get("document_id")?,
        prefix: row.try_get("address_docprefix")?,
        version_seq: row.try_get("version_seq")?,
        media_type: row.try_get("media_type")?,
        content_sha256: row.try_get("content_sha256")?,
        body: row.try_get("body")?,
    })
}
