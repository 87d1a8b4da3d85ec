//! Lists in pages: each begins after what the one before ended with, so nothing is lost or told twice when rows come in between.

use serde_json::Value;

use super::reads::{all, change, proposal, run};
use super::{ChangeRow, ProposalRow, WorkflowRow, WorkflowRunRow};
use crate::page::After;
use crate::{Error, Store};

impl Store {
    /// Workflows that can be started, by name, after this one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_page(
        &self,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<WorkflowRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select jsonb_build_object('workflow', g.workflow, 'version', v.version, 'title', v.definition::jsonb -> 'title',
                      'steps', (select count(*) from workflow.v_workflow_step_def d where d.workflow_def_id = g.current_def_id),
                      'merged_by', v.merged_by, 'merged_at', v.merged_at,
                      'open_runs', (select count(*) from workflow.v_workflow_run r
                                     where r.workflow = g.workflow and r.state_code in ('not_started', 'in_progress', 'paused')))
               from workflow.v_workflow_registry g join workflow.v_workflow_version v on v.workflow_def_id = g.current_def_id
              where $1::text is null or g.workflow > $1
              order by g.workflow limit $2",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        all(rows)
    }

    /// Changes of workflows, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn change_page(
        &self,
        workflow: Option<&str>,
        state: Option<&str>,
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<ChangeRow>, Error> {
        let text = change!(
            "where ($1::text is null or c.workflow = $1) and ($2::text is null or c.proposal_state = $2)
               and ($3::timestamptz is null or (c.created_at, c.change_request_id) < ($3::timestamptz, $4))
             order by c.created_at desc, c.change_request_id desc limit $5"
        );
        self.paged(text, [workflow, state], after, limit).await
    }

    /// Proposals that are not about workflows, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn proposal_page(
        &self,
        kind: Option<&str>,
        state: Option<&str>,
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<ProposalRow>, Error> {
        let text = proposal!(
            "where ($1::text is null or p.proposal_kind = $1) and ($2::text is null or p.proposal_state = $2)
               and ($3::timestamptz is null or (p.created_at, p.proposal_id) < ($3::timestamptz, $4))
             order by p.created_at desc, p.proposal_id desc limit $5"
        );
        self.paged(text, [kind, state], after, limit).await
    }

    /// Runs of workflows, the newest first. The state `open` is that of all that are not over.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_run_page(
        &self,
        workflow: Option<&str>,
        state: Option<&str>,
        colour: Option<&str>,
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<WorkflowRunRow>, Error> {
        let text = run!(
            "where ($1::text is null or r.workflow = $1)
               and ($2::text is null or r.state_code = $2 or ($2 = 'open' and r.state_code in ('not_started', 'in_progress', 'paused')))
               and ($3::timestamptz is null or (r.created_at, r.workflow_run_id) < ($3::timestamptz, $4))
               and ($6::text is null or r.rollup_state_code = $6)
             order by r.created_at desc, r.workflow_run_id desc limit $5"
        );
        let rows: Vec<Value> = sqlx::query_scalar(text)
            .bind(workflow)
            .bind(state)
            .bind(after.map(|after| after.at.as_str()))
            .bind(after.map(|after| after.id))
            .bind(limit)
            .bind(colour)
            .fetch_all(&self.pool)
            .await?;
        all(rows)
    }
}
