//! Families, permits and births as they stand.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::page::After;
use crate::{Error, Store};

/// A table under admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    pub collection_name: String,
    /// The table as it is called now; nothing when it is gone.
    pub table_name: Option<String>,
    pub code_column: String,
    pub name_column: Option<String>,
    pub code_rule: Option<String>,
    pub ttl_seconds: i32,
    pub enforced_from: Option<String>,
    pub approval_required: bool,
    pub governance_role: String,
    pub active: bool,
    pub declared_by: String,
    pub declared_at: String,
    /// `enforced`, `report_only`, `glass_broken` or `released`.
    pub mode: String,
    /// Whether its triggers are in place, on the table and every partition.
    pub armed: Option<bool>,
    /// Partitions that came with rows, which met no gate, and that nobody accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub came_with_rows: Vec<String>,
}

/// A permit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    pub permit_id: Uuid,
    pub collection_name: String,
    pub entity_code: String,
    /// Hex.
    pub request_hash: String,
    pub batch_id: Option<Uuid>,
    pub status: String,
    pub entity_name: Option<String>,
    pub species_code: Option<String>,
    pub governance_role: String,
    pub requested_by_dot: String,
    pub approval_id: Option<Uuid>,
    pub started_by: String,
    pub requested_at: String,
    pub expires_at: String,
    pub consumed_at: Option<String>,
    pub consumed_by: Option<String>,
    pub finalized_birth_id: Option<Uuid>,
    /// Why it failed or was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    pub last_transition_at: String,
}

/// How many permits of a family stand in a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermitCount {
    pub collection_name: String,
    pub status: String,
    pub permits: i64,
    pub oldest: String,
    pub newest: String,
    pub newest_codes: Vec<String>,
}

/// A birth without a finalized permit, or a permit without its birth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub collection_name: String,
    pub entity_code: String,
    pub birth_id: Option<Uuid>,
    pub born_at: String,
    pub born_by: Option<String>,
    pub violation: String,
}

/// Something that was born.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    pub birth_id: Uuid,
    pub entity_code: String,
    pub collection_name: String,
    pub entity_name: Option<String>,
    pub species_code: Option<String>,
    pub governance_role: String,
    pub dot_origin: String,
    pub admission: String,
    pub permit_id: Option<Uuid>,
    pub born_at: String,
    pub born_by: String,
}

/// A step of a command, as its ledger has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandStep {
    pub phase: String,
    pub status: String,
    /// A request that came to an end without a birth may be made again, under the next number.
    pub attempt: i32,
    pub at: String,
}

const PERMIT: &str =
    "to_jsonb(v) || jsonb_build_object('request_hash', encode(v.request_hash, 'hex'))";

impl Store {
    /// Tables under admission, and those that were.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn families(&self) -> Result<Vec<Family>, Error> {
        self.birth_rows(
            "select to_jsonb(v) from birth.v_family v where $1::text is null or v.collection_name = $1
              order by v.collection_name limit $2",
            None,
            i64::MAX,
        )
        .await
    }

    /// One family.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn family(&self, collection: &str) -> Result<Option<Family>, Error> {
        let rows = self
            .birth_rows(
                "select to_jsonb(v) from birth.v_family v where v.collection_name = $1 limit $2",
                Some(collection),
                1,
            )
            .await?;
        Ok(rows.into_iter().next())
    }

    /// Permits by family and status.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn permit_counts(&self, collection: Option<&str>) -> Result<Vec<PermitCount>, Error> {
        self.birth_rows(
            "select to_jsonb(v) from birth.v_birth_admission_permit_status v
              where $1::text is null or v.collection_name = $1 order by v.collection_name, v.status limit $2",
            collection,
            i64::MAX,
        )
        .await
    }

    /// Births without permits and permits without births, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn birth_violations(
        &self,
        collection: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Violation>, Error> {
        self.birth_rows(
            "select to_jsonb(v) from birth.v_birth_admission_violation v
              where $1::text is null or v.collection_name = $1 order by v.born_at desc, v.entity_code limit $2",
            collection,
            limit,
        )
        .await
    }

    /// Permits of a family, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn permits(
        &self,
        collection: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Permit>, Error> {
        let query = format!(
            "select {PERMIT} from birth.v_birth_admission_permit v
              where $1::text is null or v.collection_name = $1 order by v.requested_at desc, v.permit_id desc limit $2"
        );
        let rows: Vec<Value> = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
            .bind(collection)
            .bind(limit)
            .fetch_all(&self.pool)
            .await?;
        rows.into_iter().map(decode).collect()
    }

    /// A page of permits, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn permit_page(
        &self,
        collection: Option<&str>,
        status: Option<&str>,
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<Permit>, Error> {
        let text = "select to_jsonb(v) || jsonb_build_object('request_hash', encode(v.request_hash, 'hex')) from birth.v_birth_admission_permit v
              where ($1::text is null or v.collection_name = $1) and ($2::text is null or v.status = $2)
                and ($3::timestamptz is null or (v.requested_at, v.permit_id) < ($3::timestamptz, $4))
              order by v.requested_at desc, v.permit_id desc limit $5";
        self.paged(text, [collection, status], after, limit).await
    }

    /// One permit.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn permit(&self, permit_id: Uuid) -> Result<Option<Permit>, Error> {
        let query =
            format!("select {PERMIT} from birth.v_birth_admission_permit v where v.permit_id = $1");
        let row: Option<Value> = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
            .bind(permit_id)
            .fetch_optional(&self.pool)
            .await?;
        row.map(decode).transpose()
    }

    /// The permit that a request has: the one that is live or led to a birth, or else the last one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn permit_of_request(&self, request_hash: &[u8]) -> Result<Option<Permit>, Error> {
        let query = format!(
            "select {PERMIT} from birth.v_birth_admission_permit v where v.request_hash = $1
              order by v.status in ('RESERVED', 'CONSUMED', 'FINALIZED') desc, v.requested_at desc, v.permit_id desc limit 1"
        );
        let row: Option<Value> = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
            .bind(request_hash)
            .fetch_optional(&self.pool)
            .await?;
        row.map(decode).transpose()
    }

    /// The permit of a code that is live, if there is one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn live_permit(&self, collection: &str, code: &str) -> Result<Option<Permit>, Error> {
        let query = format!(
            "select {PERMIT} from birth.v_birth_admission_permit v
              where v.collection_name = $1 and v.entity_code = $2 and v.status in ('RESERVED', 'CONSUMED', 'FINALIZED')"
        );
        let row: Option<Value> = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
            .bind(collection)
            .bind(code)
            .fetch_optional(&self.pool)
            .await?;
        row.map(decode).transpose()
    }

    /// The birth of a code.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn birth(&self, collection: &str, code: &str) -> Result<Option<Birth>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            "select to_jsonb(v) from birth.v_birth_registry v where v.entity_code = $2 and v.collection_name = $1",
        )
        .bind(collection)
        .bind(code)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }

    /// The steps of a request's last attempt, in their order.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn command_steps(
        &self,
        command: &str,
        request_hash: &[u8],
    ) -> Result<Vec<CommandStep>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select jsonb_build_object('phase', v.phase, 'status', v.status, 'attempt', v.attempt, 'at', v.at) from iu.v_dot_iu_command_run v
              where v.command_name = $1 and v.request_hash = $2
                and v.attempt = (select max(w.attempt) from iu.v_dot_iu_command_run w where w.command_name = $1 and w.request_hash = $2)
              order by v.at, v.command_run_id",
        )
        .bind(command)
        .bind(request_hash)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    async fn birth_rows<T: for<'de> Deserialize<'de>>(
        &self,
        query: &'static str,
        collection: Option<&str>,
        limit: i64,
    ) -> Result<Vec<T>, Error> {
        let rows: Vec<Value> =
            sqlx::query_scalar(query).bind(collection).bind(limit).fetch_all(&self.pool).await?;
        rows.into_iter().map(decode).collect()
    }
}
