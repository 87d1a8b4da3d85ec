//! Definitions as pictures need them: known by their digests, read whole only when they are not.

use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::{Error, Store};

/// What a picture is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pictured {
    /// A version of a workflow; the newest when none is named.
    Version { workflow: String, version: Option<i32> },
    /// The version that a run is of.
    Run(Uuid),
    /// A change beside the version it was written against.
    Change(Uuid),
}

/// A definition, or two that belong on one picture. The digests are SHA-256; a definition is there only if it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Definitions {
    pub base_sha256: Option<Vec<u8>>,
    pub base: Option<Value>,
    pub shown_sha256: Vec<u8>,
    pub shown: Option<Value>,
}

impl Store {
    /// What a picture is made of; nothing when there is no such workflow, run or change. Without `whole` only the digests are read.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn pictured(&self, of: &Pictured, whole: bool) -> Result<Option<Definitions>, Error> {
        let query = match of {
            Pictured::Version { workflow, version } => sqlx::query(
                "select v.definition_sha256 as shown_sha256, case when $1 then v.definition::jsonb end as shown,
                        null::bytea as base_sha256, null::jsonb as base
                   from workflow.v_workflow_version v join workflow.v_workflow_registry g using (workflow)
                  where v.workflow = $2 and v.version = coalesce($3, g.current_version)",
            )
            .bind(whole)
            .bind(workflow)
            .bind(version),
            Pictured::Run(run) => sqlx::query(
                "select v.definition_sha256 as shown_sha256, case when $1 then v.definition::jsonb end as shown,
                        null::bytea as base_sha256, null::jsonb as base
                   from workflow.v_workflow_run r join workflow.v_workflow_version v using (workflow_def_id)
                  where r.workflow_run_id = $2",
            )
            .bind(whole)
            .bind(run),
            Pictured::Change(change) => sqlx::query(
                "select r.definition_sha256 as shown_sha256, case when $1 then r.definition::jsonb end as shown,
                        v.definition_sha256 as base_sha256, case when $1 then v.definition::jsonb end as base
                   from workflow.v_workflow_change_requests c
                   join workflow.v_change_revision r using (change_request_id)
                   left join workflow.v_workflow_version v on v.workflow = c.workflow and v.version = c.base_version
                  where c.change_request_id = $2
                  order by r.revision_no desc limit 1",
            )
            .bind(whole)
            .bind(change),
        };
        let definitions = |row: PgRow| -> Result<Definitions, Error> {
            Ok(Definitions {
                base_sha256: row.try_get("base_sha256")?,
                base: row.try_get("base")?,
                shown_sha256: row.try_get("shown_sha256")?,
                shown: row.try_get("shown")?,
            })
        };
        query.fetch_optional(&self.pool).await?.map(definitions).transpose()
    }
}
