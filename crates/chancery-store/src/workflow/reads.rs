//! What workflows, their runs and proposals look like.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// A workflow that can be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkflowRow {
    pub workflow: String,
    /// The newest.
    pub version: i32,
    pub title: Value,
    pub steps: i64,
    /// Runs of any version that are not over.
    pub open_runs: i64,
    pub merged_by: String,
    pub merged_at: String,
}

/// A version of a workflow, whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VersionRow {
    pub workflow: String,
    pub version: i32,
    pub current: bool,
    pub definition: Value,
    /// Hex.
    pub definition_sha256: String,
    pub change_request_id: Uuid,
    pub merged_by: String,
    pub merged_at: String,
    pub open_runs: i64,
}

/// A change of a workflow that somebody proposed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChangeRow {
    pub change_request_id: Uuid,
    pub workflow: String,
    pub base_version: Option<i32>,
    pub state: String,
    pub seq: i64,
    pub state_machine_id: String,
    pub title: String,
    pub proposer: String,
    pub revision_no: i32,
    /// Hex.
    pub definition_sha256: String,
    pub approval_id: Option<Uuid>,
    pub merged_version: Option<i32>,
    pub created_at: String,
    pub last_transition_at: String,
}

/// A proposal that is not about a workflow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProposalRow {
    pub proposal_id: Uuid,
    pub kind: String,
    pub proposer_class: String,
    pub state: String,
    pub seq: i64,
    pub state_machine_id: String,
    pub title: String,
    pub proposer: String,
    pub affected_iu_ids: Vec<Uuid>,
    pub action: Value,
    /// Hex.
    pub action_sha256: String,
    pub approval_id: Option<Uuid>,
    pub outcome: Option<Value>,
    pub created_at: String,
    pub last_transition_at: String,
}

/// A run of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowRunRow {
    pub workflow_run_id: Uuid,
    pub workflow: String,
    pub workflow_class: String,
    pub version: i32,
    pub inputs: Value,
    pub parent_step_run_id: Option<Uuid>,
    pub state_machine_id: String,
    pub state_code: String,
    pub seq: i64,
    pub started_by: String,
    pub trace_id: String,
    pub created_at: String,
    pub last_transition_at: String,
    /// The colour: gray, green, yellow or red.
    pub rollup_state_code: String,
    pub red_count: i32,
    pub yellow_count: i32,
    pub green_count: i32,
    pub skipped_count: i32,
    pub optional_excluded_count: i32,
    pub mandatory_count: i32,
    pub completed_count: i32,
    pub decisive_step_run_id: Option<Uuid>,
    pub decisive_step: Option<String>,
    pub decisive_state_code: Option<String>,
    pub frozen_at: Option<String>,
}

/// A step or a task of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkRow {
    /// `step` or `task`.
    pub run_kind: String,
    pub run_id: Uuid,
    pub workflow_run_id: Uuid,
    pub step_run_id: Uuid,
    /// The key of the step, or `STEP/TASK`.
    pub path: String,
    pub name_en: String,
    pub name_vi: String,
    pub state_machine_id: String,
    pub state_code: String,
    pub floor_state_code: String,
    pub facet: Option<String>,
    /// The same, by the name that the column has in the seeds.
    pub waiting_facet: Option<String>,
    pub seq: i64,
    pub mandatory: bool,
    pub skipped: bool,
    pub awaits_precondition: bool,
    pub pic_id: Option<String>,
    pub pic_rule: Value,
    pub executor_class: String,
    pub started_at: Option<String>,
    pub deadline: Option<String>,
    /// Now, not once.
    pub past_deadline: bool,
    /// Once, whether it is now or not.
    pub was_late: bool,
    pub overdue_first_at: Option<String>,
    pub completed_at: Option<String>,
    pub completed_after_deadline: Option<bool>,
    pub block_reason: Option<String>,
    pub blocked_since: Option<String>,
    pub blocked_severity: Option<String>,
    pub failure_classification: Option<String>,
    pub failure_class: Option<String>,
    /// Why it failed last, in the words of who reported it.
    pub failure_detail: Option<String>,
    pub retrying: Option<String>,
    /// It was handed up because no try could mend it.
    pub escalated: bool,
    pub retry_count: i32,
    pub cycle_no: i32,
    pub on_critical_path: bool,
    /// Since when its output is older than the corrected run of its sub-workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<String>,
    pub last_transition_at: String,
}

/// What a step or task waits for, or waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    pub wait_id: Uuid,
    pub facet: String,
    pub subject_kind: Option<String>,
    pub subject_ref: Option<String>,
    pub until: Option<String>,
    pub issued_at: String,
    pub opened: bool,
    pub resolved_at: Option<String>,
    pub resolved_by: Option<String>,
    pub proof: Option<Value>,
}

/// What a step or task was given, or gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotRow {
    /// `input` or `output`.
    pub snapshot_kind: String,
    pub cycle_no: i32,
    pub attempt: i32,
    pub document: Value,
    pub taken_at: String,
}

/// A move of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedMove {
    pub seq: i64,
    pub at: String,
    pub from_state: Option<String>,
    pub to_state: String,
    pub facet: Option<String>,
    pub principal: String,
    pub actor_class: String,
    pub trigger_kind: String,
    pub trigger_ref: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub event_type: Option<String>,
    pub idempotency_key: String,
    pub signed: bool,
}

/// A row of a machine: what a call leads to, from where and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Way {
    /// Nothing for a birth.
    pub from: Option<String>,
    pub to: String,
    pub actor: String,
    pub trigger_kind: String,
}

/// Which rows of a list.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub name: Option<String>,
    pub state: Option<String>,
    pub limit: i64,
}

macro_rules! change {
    ($rest:literal) => {
        concat!(
            "select to_jsonb(c) || jsonb_build_object(
         'state', c.proposal_state, 'proposer', c.started_by, 'revision_no', r.revision_no, 'definition_sha256', encode(r.definition_sha256, 'hex'),
         'merged_version', (select v.version from workflow.v_workflow_version v where v.workflow_def_id = c.merged_def_id))
    from workflow.v_workflow_change_requests c,
         lateral (select r.revision_no, r.definition_sha256 from workflow.v_change_revision r where r.change_request_id = c.change_request_id
                   order by r.revision_no desc limit 1) r ",
            $rest
        )
    };
}

macro_rules! proposal {
    ($rest:literal) => {
        concat!(
            "select to_jsonb(p) || jsonb_build_object(
         'kind', p.proposal_kind, 'state', p.proposal_state, 'proposer', p.started_by, 'action', p.proposed_action::jsonb,
         'action_sha256', encode(p.action_sha256, 'hex'))
    from governance.v_proposal p ",
            $rest
        )
    };
}

macro_rules! version {
    ($rest:literal) => {
        concat!(
            "select to_jsonb(v) || jsonb_build_object(
         'definition', v.definition::jsonb, 'definition_sha256', encode(v.definition_sha256, 'hex'), 'current', v.workflow_def_id = g.current_def_id,
         'open_runs', (select count(*) from workflow.v_workflow_run r
                        where r.workflow_def_id = v.workflow_def_id and r.state_code in ('not_started', 'in_progress', 'paused')))
    from workflow.v_workflow_version v join workflow.v_workflow_registry g using (workflow) ",
            $rest
        )
    };
}

macro_rules! run {
    ($rest:literal) => {
        concat!(
            "select to_jsonb(r) || jsonb_build_object(
         'version', v.version, 'inputs', r.inputs::jsonb,
         'decisive_step', (select s.step_key from workflow.v_step_run s where s.step_run_id = r.decisive_step_run_id))
    from workflow.v_workflow_run r join workflow.v_workflow_version v using (workflow_def_id) ",
            $rest
        )
    };
}

macro_rules! step {
    ($rest:literal) => {
        concat!(
            "select to_jsonb(s) || jsonb_build_object(
         'run_kind', 'step', 'run_id', s.step_run_id, 'path', s.step_key, 'name_en', d.name_en, 'name_vi', d.name_vi, 'pic_rule', d.pic_rule,
         'executor_class', s.executor_class_ref)
    from workflow.v_step_run s join workflow.v_workflow_step_def d using (step_def_id) ",
            $rest
        )
    };
}

macro_rules! task {
    ($rest:literal) => {
        concat!(
            "select to_jsonb(t) || jsonb_build_object(
         'run_kind', 'task', 'run_id', t.task_run_id, 'path', s.step_key || '/' || t.task_key, 'name_en', d.name_en, 'name_vi', d.name_vi,
         'pic_rule', d.pic_rule, 'executor_class', t.executor_class_ref, 'mandatory', true, 'awaits_precondition', false, 'blocked_severity', null,
         'on_critical_path', false)
    from workflow.v_task_run t join workflow.v_workflow_task_def d using (task_def_id) join workflow.v_step_run s using (step_run_id) ",
            $rest
        )
    };
}

pub(super) use {change, proposal, run};

impl Store {
    /// Workflows that can be started, by name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflows(&self) -> Result<Vec<WorkflowRow>, Error> {
        let rows = sqlx::query_scalar(
            "select jsonb_build_object('workflow', g.workflow, 'version', v.version, 'title', v.definition::jsonb -> 'title',
                      'steps', jsonb_array_length(v.definition::jsonb -> 'steps'), 'merged_by', v.merged_by, 'merged_at', v.merged_at,
                      'open_runs', (select count(*) from workflow.v_workflow_run r
                                     where r.workflow = g.workflow and r.state_code in ('not_started', 'in_progress', 'paused')))
               from workflow.v_workflow_registry g join workflow.v_workflow_version v on v.workflow_def_id = g.current_def_id
              order by g.workflow",
        )
        .fetch_all(&self.pool)
        .await?;
        all(rows)
    }

    /// A version of a workflow; the newest without a number.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_version(
        &self,
        workflow: &str,
        version: Option<i32>,
    ) -> Result<Option<VersionRow>, Error> {
        let row: Option<Value> = sqlx::query_scalar(version!(
            "where v.workflow = $1 and v.version = coalesce($2, g.current_version)"
        ))
        .bind(workflow)
        .bind(version)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }

    /// Changes of workflows, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_changes(&self, listing: &Listing) -> Result<Vec<ChangeRow>, Error> {
        self.listed(
            change!("where ($1::text is null or c.workflow = $1) and ($2::text is null or c.proposal_state = $2)
                  order by c.created_at desc, c.change_request_id limit $3"),
            listing,
        )
        .await
    }

    /// One change of a workflow.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_change(&self, id: Uuid) -> Result<Option<ChangeRow>, Error> {
        self.one(change!("where c.change_request_id = $1"), id).await
    }

    /// Proposals that are not about workflows, the newest first; `name` is their kind.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn proposals(&self, listing: &Listing) -> Result<Vec<ProposalRow>, Error> {
        self.listed(
            proposal!("where ($1::text is null or p.proposal_kind = $1) and ($2::text is null or p.proposal_state = $2)
                  order by p.created_at desc, p.proposal_id limit $3"),
            listing,
        )
        .await
    }

    /// One proposal that is not about a workflow.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn proposal(&self, id: Uuid) -> Result<Option<ProposalRow>, Error> {
        self.one(proposal!("where p.proposal_id = $1"), id).await
    }

    /// What a proposal rests on.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn proposal_usage(&self, id: Uuid) -> Result<Vec<Value>, Error> {
        Ok(sqlx::query_scalar(
            "select jsonb_build_object('kind', e.evidence_kind, 'facts', e.facts::jsonb, 'iu_id', e.iu_id)
               from governance.v_iu_usage_evidence e where e.proposal_id = $1 order by e.recorded_at, e.evidence_id",
        )
        .bind(id)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Runs of workflows, the newest first; those of sub-workflows are among them. The state `open` is that of all that are not over.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_runs(&self, listing: &Listing) -> Result<Vec<WorkflowRunRow>, Error> {
        self.listed(
            run!("where ($1::text is null or r.workflow = $1) and ($2::text is null or r.state_code = $2 or ($2 = 'open' and r.state_code in ('not_started', 'in_progress', 'paused')))
                  order by r.created_at desc, r.workflow_run_id limit $3"),
            listing,
        )
        .await
    }

    /// One run of a workflow.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_run(&self, id: Uuid) -> Result<Option<WorkflowRunRow>, Error> {
        self.one(run!("where r.workflow_run_id = $1"), id).await
    }

    /// The run that stands for a step which is a sub-workflow: the newest.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_sub_run(&self, step: Uuid) -> Result<Option<WorkflowRunRow>, Error> {
        self.one(run!("where r.parent_step_run_id = $1 order by r.created_at desc limit 1"), step)
            .await
    }

    /// The steps of a run, in an order in which each comes after what it waits for.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_steps(&self, run: Uuid) -> Result<Vec<WorkRow>, Error> {
        let text = step!("where s.workflow_run_id = $1 order by s.step_no");
        all(sqlx::query_scalar(text).bind(run).fetch_all(&self.pool).await?)
    }

    /// The tasks of a run.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_tasks(&self, run: Uuid) -> Result<Vec<WorkRow>, Error> {
        let text = task!("where t.workflow_run_id = $1 order by s.step_no, t.task_no");
        all(sqlx::query_scalar(text).bind(run).fetch_all(&self.pool).await?)
    }

    /// One step or task.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn work(&self, id: Uuid) -> Result<Option<WorkRow>, Error> {
        match self.one(step!("where s.step_run_id = $1"), id).await? {
            None => self.one(task!("where t.task_run_id = $1"), id).await,
            step => Ok(step),
        }
    }

    /// One step or task of a run by its key, `STEP` or `STEP/TASK`.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn work_at(&self, run: Uuid, path: &str) -> Result<Option<WorkRow>, Error> {
        let (step, task) = path.split_once('/').map_or((path, None), |(s, t)| (s, Some(t)));
        let text = match task {
            None => {
                step!("where s.workflow_run_id = $1 and s.step_key = $2 and $3::text is null")
            }
            Some(_) => {
                task!("where t.workflow_run_id = $1 and s.step_key = $2 and t.task_key = $3")
            }
        };
        let row: Option<Value> = sqlx::query_scalar(text)
            .bind(run)
            .bind(step)
            .bind(task)
            .fetch_optional(&self.pool)
            .await?;
        row.map(decode).transpose()
    }

    /// What a step or task waits for and waited for, the oldest first. A wait's token is not among it.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn work_waits(&self, id: Uuid) -> Result<Vec<WaitRow>, Error> {
        let rows = sqlx::query_scalar(
            "select to_jsonb(w) - 'token_sha256' || jsonb_build_object('proof', w.proof::jsonb) from workflow.v_wait w
              where w.run_id = $1 order by w.issued_at, w.wait_id",
        );
        all(rows.bind(id).fetch_all(&self.pool).await?)
    }

    /// What a step or task was given and gave, the oldest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn work_snapshots(&self, id: Uuid) -> Result<Vec<SnapshotRow>, Error> {
        let rows = sqlx::query_scalar(
            "select to_jsonb(o) || jsonb_build_object('document', o.document::jsonb) from workflow.v_step_run_snapshot o
              where o.run_id = $1 order by o.taken_at, o.snapshot_kind",
        );
        all(rows.bind(id).fetch_all(&self.pool).await?)
    }

    /// What the log has of a run, a step, a task or a proposal.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_history(&self, id: Uuid) -> Result<Vec<LoggedMove>, Error> {
        let rows = sqlx::query_scalar(
            "select jsonb_build_object(
                      'seq', l.seq, 'at', l.at, 'from_state', l.from_state, 'to_state', l.to_state, 'facet', l.facet, 'principal', l.principal,
                      'actor_class', l.actor_class, 'trigger_kind', l.trigger_kind, 'trigger_ref', l.trigger_ref, 'reason', l.reason,
                      'evidence', l.evidence::jsonb, 'event_type', l.event_type, 'idempotency_key', l.idempotency_key, 'signed', l.signature is not null)
               from fsm.v_transition_log l where l.run_id = $1 order by l.seq",
        );
        all(rows.bind(id).fetch_all(&self.pool).await?)
    }

    /// Where a call leads, by the rows of a machine, for each who may make it. A row that starts in `state` comes first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_ways(
        &self,
        machine: &str,
        call: &str,
        state: &str,
    ) -> Result<Vec<Way>, Error> {
        let rows = sqlx::query_scalar(
            "select t from fsm.v_machine m, jsonb_array_elements(m.definition -> 'transitions') t
              where m.state_machine_id = $1 and t ->> 'trigger_ref' = $2
              order by coalesce(t ->> 'from' = $3, false) desc, t ->> 'to', t ->> 'actor'",
        );
        all(rows.bind(machine).bind(call).bind(state).fetch_all(&self.pool).await?)
    }

    /// The births of the machine that is active in a scope.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn workflow_births(&self, scope: &str) -> Result<Vec<Way>, Error> {
        let rows = sqlx::query_scalar(
            "select t from fsm.v_machine m, jsonb_array_elements(m.definition -> 'transitions') t
              where m.scope = $1 and m.active and t ->> 'from' is null order by t ->> 'actor'",
        );
        all(rows.bind(scope).fetch_all(&self.pool).await?)
    }

    async fn listed<T>(&self, text: &'static str, listing: &Listing) -> Result<Vec<T>, Error>
    where
        T: for<'de> Deserialize<'de>,
    {
        all(sqlx::query_scalar(text)
            .bind(&listing.name)
            .bind(&listing.state)
            .bind(listing.limit)
            .fetch_all(&self.pool)
            .await?)
    }

    async fn one<T>(&self, text: &'static str, id: Uuid) -> Result<Option<T>, Error>
    where
        T: for<'de> Deserialize<'de>,
    {
        let row: Option<Value> =
            sqlx::query_scalar(text).bind(id).fetch_optional(&self.pool).await?;
        row.map(decode).transpose()
    }
}

pub(super) fn all<T: for<'de> Deserialize<'de>>(rows: Vec<Value>) -> Result<Vec<T>, Error> {
    rows.into_iter().map(decode).collect()
}
