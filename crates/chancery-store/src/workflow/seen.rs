//! What a reader may see of workflows and their runs. The database leaves out what the reader may not.

use futures_util::{Stream, TryStreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::Pictured;
use super::graph::Definitions;
use crate::fsm::decode;
use crate::{Error, Store};

/// A definition as a reader sees it, and how many of its steps that reader may not see.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub definitions: Definitions,
    pub hidden: i32,
}

/// A part of a snapshot: `run`, `step`, `task`, `wait`, `way`, or `end` with the position; the body is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPart {
    pub part: String,
    pub body: String,
}

/// The version of a unit that a step works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedUnit {
    pub unit_id: Uuid,
    pub address: String,
    pub version: i32,
    pub title: String,
    pub text: String,
}

impl Store {
    /// What a picture is made of, for one reader; nothing when there is no such thing.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_definition_seen(
        &self,
        of: &Pictured,
        reader: &str,
        whole: bool,
    ) -> Result<Option<Seen>, Error> {
        let (kind, workflow, version, id) = match of {
            Pictured::Version { workflow, version } => {
                ("version", Some(workflow.as_str()), *version, None)
            }
            Pictured::Run(run) => ("run", None, None, Some(*run)),
            Pictured::Change(change) => ("change", None, None, Some(*change)),
        };
        let row = sqlx::query("select shown_sha256, shown, base_sha256, base, hidden from workflow.fn_definition_seen($1, $2, $3, $4, $5, $6)")
            .bind(kind)
            .bind(workflow)
            .bind(version)
            .bind(id)
            .bind(reader)
            .bind(whole)
            .fetch_optional(&self.pool)
            .await?;
        let seen = |row: PgRow| -> Result<Seen, Error> {
            Ok(Seen {
                definitions: Definitions {
                    base_sha256: row.try_get("base_sha256")?,
                    base: row.try_get("base")?,
                    shown_sha256: row.try_get("shown_sha256")?,
                    shown: row.try_get("shown")?,
                },
                hidden: row.try_get("hidden")?,
            })
        };
        row.map(seen).transpose()
    }

    /// Whether there is such a step, task or wait and the reader may see it.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_work_seen(&self, kind: &str, id: Uuid, reader: &str) -> Result<bool, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_work_seen($1, $2, $3)")
            .bind(kind)
            .bind(id)
            .bind(reader)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Everything that is needed to show a run again, in parts, while it is read. A refusal is the first and only item.
    pub fn fn_run_parts<'a>(
        &'a self,
        workflow_run_id: Uuid,
        reader: &'a str,
    ) -> impl Stream<Item = Result<SnapshotPart, Error>> + Send + 'a {
        sqlx::query_as("select part, body from workflow.fn_run_parts($1, $2)")
            .bind(workflow_run_id)
            .bind(reader)
            .fetch(&self.pool)
            .map_ok(|(part, body)| SnapshotPart { part, body })
            .map_err(Error::from)
    }

    /// Why a run has its colour, for one reader.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_rollup_seen(&self, run: Uuid, reader: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_rollup_seen($1, $2)")
            .bind(run)
            .bind(reader)
            .fetch_one(&self.pool)
            .await?)
    }

    /// The steps that something before them holds up, for one reader.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_downstream_seen(&self, run: Uuid, reader: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_downstream_seen($1, $2)")
            .bind(run)
            .bind(reader)
            .fetch_one(&self.pool)
            .await?)
    }

    /// What a change changes, for one reader.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_change_diff_seen(&self, change: Uuid, reader: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_change_diff_seen($1, $2)")
            .bind(change)
            .bind(reader)
            .fetch_one(&self.pool)
            .await?)
    }

    /// The version of a unit that a step or task works on.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn pinned_unit(&self, work: Uuid) -> Result<Option<PinnedUnit>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            "select jsonb_build_object('unit_id', u.id, 'address', u.canonical_address, 'version', v.version_seq, 'title', v.title, 'text', v.body)
               from (select s.pinned_iu_version_id as pinned from workflow.v_step_run s where s.step_run_id = $1
                     union all select t.pinned_iu_version_id from workflow.v_task_run t where t.task_run_id = $1) p
               join iu.v_unit_version v on v.id = p.pinned join iu.v_information_unit u on u.id = v.unit_id",
        )
        .bind(work)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }
}
