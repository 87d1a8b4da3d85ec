//! What the loops of any replica do: the orchestrator of workflows, and the timers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// A condition is data that somebody proposed, and nobody can tell beforehand how long it runs. What a loop does ends after so long,
/// with SQLSTATE 57014 and nothing done; it waits for somebody else's lock for less, which ends as a conflict.
const BOUNDED: &str = "begin isolation level read committed; set local statement_timeout = '5s'; set local lock_timeout = '2s'";

/// What one turn of the loop did in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Another replica is at the run.
    pub busy: bool,
    pub moved: i32,
    /// More waits than one turn does.
    #[serde(default)]
    pub more: bool,
}

/// What came of a timer that rang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// Not when somebody else fired it, or when it was moved.
    pub fired: bool,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub run_kind: Option<String>,
    #[serde(default)]
    pub run_id: Option<Uuid>,
    #[serde(default)]
    pub done: Option<String>,
}

impl Store {
    /// Runs in which something waits for the loop.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_mow_next(&self, limit: i32, principal: &str) -> Result<Vec<Uuid>, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_mow_next($1, $2)")
            .bind(limit)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?)
    }

    /// One turn in one run.
    ///
    /// # Errors
    /// The database's refusal, or that it took too long.
    pub async fn fn_mow_turn(&self, workflow_run_id: Uuid, principal: &str) -> Result<Turn, Error> {
        let mut within = self.pool.begin_with(BOUNDED).await?;
        let answer: Value = sqlx::query_scalar("select workflow.fn_mow_turn($1, $2)")
            .bind(workflow_run_id)
            .bind(principal)
            .fetch_one(&mut *within)
            .await?;
        within.commit().await?;
        decode(answer)
    }

    /// Leaves a run alone for a while after its turn failed, with a finding.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_mow_defer(
        &self,
        workflow_run_id: Uuid,
        error: &str,
        principal: &str,
    ) -> Result<(), Error> {
        sqlx::query("select workflow.fn_mow_defer($1, $2, $3)")
            .bind(workflow_run_id)
            .bind(error)
            .bind(principal)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Timers that have rung.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_timer_due(&self, limit: i32, principal: &str) -> Result<Vec<Uuid>, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_timer_due($1, $2)")
            .bind(limit)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Does what a timer is for.
    ///
    /// # Errors
    /// The database's refusal, or that it took too long.
    pub async fn fn_timer_fire(&self, timer_id: Uuid, principal: &str) -> Result<Fired, Error> {
        let mut within = self.pool.begin_with(BOUNDED).await?;
        let answer: Value = sqlx::query_scalar("select workflow.fn_timer_fire($1, $2)")
            .bind(timer_id)
            .bind(principal)
            .fetch_one(&mut *within)
            .await?;
        within.commit().await?;
        decode(answer)
    }

    /// Lets a timer ring again later after its deed failed, with a finding.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_timer_defer(
        &self,
        timer_id: Uuid,
        error: &str,
        principal: &str,
    ) -> Result<(), Error> {
        sqlx::query("select workflow.fn_timer_defer($1, $2, $3)")
            .bind(timer_id)
            .bind(error)
            .bind(principal)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}
