//! Documents and units, in pages.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::DocumentRow;
use crate::fsm::{ISO, decode};
use crate::{Error, Store};

/// A unit without its text, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitLine {
    pub unit_id: Uuid,
    pub address: String,
    pub unit_kind: String,
    pub section_type: String,
    pub title: String,
    pub lifecycle_status: String,
    pub parent: Option<String>,
    pub sort_order: i32,
    pub version_id: Uuid,
    pub version_seq: i32,
    pub content_hash: String,
}

/// A unit with one of its texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitText {
    #[serde(flatten)]
    pub unit: UnitLine,
    pub owner_ref: String,
    /// The document whose prefix its address has.
    pub document_id: Option<String>,
    pub newest_version_seq: i32,
    pub retired: bool,
    pub created_at: String,
    pub body: String,
}

impl Store {
    /// Documents behind a name, by name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn documents_page(
        &self,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<DocumentRow>, Error> {
        let rows = sqlx::query(document!(
            "where $1::text is null or d.document_id > $1 order by d.document_id limit $2"
        ))
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(super::document_row).collect()
    }

    /// The live units under a prefix without their texts, in the order of the document, behind a place in it.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn units_page(
        &self,
        prefix: &str,
        after: Option<(i32, &str)>,
        limit: i64,
    ) -> Result<Vec<UnitLine>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select jsonb_build_object(
                      'unit_id', u.id, 'address', u.canonical_address, 'unit_kind', u.unit_kind, 'section_type', u.section_type, 'title', v.title,
                      'lifecycle_status', u.lifecycle_status, 'parent', p.canonical_address, 'sort_order', u.sort_order, 'version_id', v.id,
                      'version_seq', v.version_seq, 'content_hash', v.content_hash)
               from iu.v_information_unit u
               join iu.v_unit_version v on v.id = u.version_anchor_ref
               left join iu.v_information_unit p on p.id = u.parent_or_container_ref
              where u.doc_code = $1 and u.deleted_at is null and ($2::integer is null or (u.sort_order, u.canonical_address) > ($2, $3))
              order by u.sort_order, u.canonical_address limit $4",
        )
        .bind(prefix)
        .bind(after.map(|(order, _)| order))
        .bind(after.map(|(_, address)| address))
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// A unit with the text that its anchor names, or with the text of a version by its id; retired ones too.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn unit_text(
        &self,
        unit_id: Uuid,
        version_id: Option<Uuid>,
    ) -> Result<Option<UnitText>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            "select jsonb_build_object(
                      'unit_id', u.id, 'address', u.canonical_address, 'unit_kind', u.unit_kind, 'section_type', u.section_type, 'title', v.title,
                      'lifecycle_status', u.lifecycle_status, 'parent', p.canonical_address, 'sort_order', u.sort_order, 'version_id', v.id,
                      'version_seq', v.version_seq, 'content_hash', v.content_hash, 'owner_ref', u.owner_ref, 'document_id', d.document_id,
                      'newest_version_seq', (select max(n.version_seq) from iu.v_unit_version n where n.unit_id = u.id),
                      'retired', u.deleted_at is not null, 'created_at', to_char(v.created_at at time zone 'UTC', $3), 'body', v.body)
               from iu.v_information_unit u
               join iu.v_unit_version v on v.unit_id = u.id and v.id = coalesce($2, u.version_anchor_ref)
               left join iu.v_information_unit p on p.id = u.parent_or_container_ref
               left join iu.v_source_document d on d.address_docprefix = u.doc_code
              where u.id = $1",
        )
        .bind(unit_id)
        .bind(version_id)
        .bind(ISO)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }
}
