//! What one principal may, holds, could take up and has asked for. Reads only: every door judges again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

use crate::fsm::decode;
use crate::queue::JobRow;
use crate::{Error, Store};

/// A principal with what its classes may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub name: String,
    /// `human`, `agent` or `service`.
    pub kind: String,
    pub active: bool,
    pub live_keys: i64,
    pub actor_classes: Vec<String>,
    pub permissions: Vec<String>,
}

/// A step or task that is somebody's, or could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnWork {
    /// `step` or `task`.
    pub run_kind: String,
    pub run_id: Uuid,
    /// In charge of it, or working on it under a lease; otherwise it could be claimed.
    pub held: bool,
}

impl Store {
    /// A principal with what its classes may.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn standing(&self, principal: &str) -> Result<Option<Standing>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            "select to_jsonb(p) || jsonb_build_object('permissions', (
                      select coalesce(jsonb_agg(distinct c.permission order by c.permission), '[]') from identity.v_class_permission c
                       where p.active and p.actor_classes ? c.actor_class))
               from identity.v_principal p where p.name = $1",
        )
        .bind(principal)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }

    /// The classes that may something.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn classes_that_may(&self, permission: &str) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "select c.actor_class from identity.v_class_permission c where c.permission = $1 and c.actor_class is not null order by 1",
        )
        .bind(permission)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Open steps and tasks of runs that are under way: those that the principal is in charge of or its worker works on, and those
    /// that it could claim, as a person in charge or as an executor of these classes. What it may not see is not among them.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn own_work(
        &self,
        principal: &str,
        worker: &str,
        executor_classes: &[String],
        limit: i64,
    ) -> Result<Vec<OwnWork>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "with me as (select p.actor_classes as classes from identity.v_principal p where p.name = $1 and p.active),
                  leased as (select (q.payload_json ->> 'run_id')::uuid as run_id from queue.v_job q
                              where q.lease_until is not null and q.state in ('leased', 'in_progress') and q.lease_owner = $1 || '/' || $2
                                and q.job_kind in ('workflow.step', 'workflow.task')),
                  work as (select 'step' as run_kind, s.step_run_id as run_id, s.workflow_run_id, s.step_def_id, s.state_code, s.pic_id,
                                  s.executor_class_ref, d.pic_rule, s.skipped, s.last_transition_at
                             from workflow.v_step_run s join workflow.v_workflow_step_def d using (step_def_id)
                            where s.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue', 'failed')
                           union all
                           select 'task', t.task_run_id, t.workflow_run_id, s.step_def_id, t.state_code, t.pic_id,
                                  t.executor_class_ref, d.pic_rule, t.skipped, t.last_transition_at
                             from workflow.v_task_run t join workflow.v_workflow_task_def d using (task_def_id) join workflow.v_step_run s using (step_run_id)
                            where t.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue', 'failed')),
                  own as (select w.*, w.run_id in (select l.run_id from leased l)
                                      or w.executor_class_ref = 'human' and w.pic_id = $1 and w.state_code <> 'ready' as held
                            from work w where not w.skipped)
             select jsonb_build_object('run_kind', o.run_kind, 'run_id', o.run_id, 'held', o.held)
               from own o join workflow.v_workflow_run r using (workflow_run_id), me
              where r.state_code = 'in_progress'
                and (o.held
                     or o.state_code = 'ready' and o.executor_class_ref = 'human'
                        and (o.pic_id = $1 or o.pic_id is null and me.classes ? (o.pic_rule ->> 'class'))
                     or o.state_code in ('ready', 'in_progress', 'failed') and me.classes ? 'executor_worker' and o.executor_class_ref = any ($3)
                        and exists (select from queue.v_job q where q.job_kind = 'workflow.' || o.run_kind and q.state in ('queued', 'retry_waiting')
                                       and q.scheduled_at is not null and q.executor_class = o.executor_class_ref and q.payload_json ->> 'run_id' = o.run_id::text))
                and (not exists (select from workflow.v_workflow_step_permission v where v.step_def_id = o.step_def_id)
                     or workflow.fn_work_seen(o.run_kind, o.run_id, $1))
              order by o.held desc, o.last_transition_at, o.run_id limit $4",
        )
        .bind(principal)
        .bind(worker)
        .bind(executor_classes)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// Which steps of a run a principal may not see.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn hidden_steps(&self, principal: &str, run: Uuid) -> Result<Vec<Uuid>, Error> {
        Ok(sqlx::query_scalar(
            "select s.step_run_id from workflow.v_step_run s
              where s.workflow_run_id = $2 and exists (select from workflow.v_workflow_step_permission v where v.step_def_id = s.step_def_id)
                and not workflow.fn_work_seen('step', s.step_run_id, $1)",
        )
        .bind(principal)
        .bind(run)
        .fetch_all(&self.pool)
        .await?)
    }

    /// The newest requests for approval that somebody made.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn asked_by(&self, principal: &str, limit: i64) -> Result<Vec<Uuid>, Error> {
        Ok(sqlx::query_scalar(
            "select r.approval_id from approval.v_approval_request r where r.proposer = $1 order by r.requested_at desc, r.approval_id limit $2",
        )
        .bind(principal)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Proposals of somebody that are not over, of workflows and of anything else: the kind and the id of each, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn proposed_by(
        &self,
        principal: &str,
        limit: i64,
    ) -> Result<Vec<(String, Uuid)>, Error> {
        Ok(sqlx::query_as(
            "select p.kind, p.id
               from (select 'workflow_change' as kind, c.change_request_id as id, c.proposal_state as state, c.created_at, c.started_by
                       from workflow.v_workflow_change_requests c
                     union all
                     select 'proposal', p.proposal_id, p.proposal_state, p.created_at, p.started_by from governance.v_proposal p) p
              where p.started_by = $1 and p.state in ('draft', 'submitted', 'review', 'approved') order by p.created_at desc, p.id limit $2",
        )
        .bind(principal)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?)
    }

    /// The jobs that are leased to a worker of a principal now.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn jobs_leased_to(
        &self,
        principal: &str,
        worker: &str,
    ) -> Result<Vec<JobRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(v) from queue.v_job v
              where v.lease_until is not null and v.state in ('leased', 'in_progress') and v.lease_owner = $1 || '/' || $2 order by v.job_no",
        )
        .bind(principal)
        .bind(worker)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// The newest job of a step or task; people's work has none.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn job_of_work(&self, run_id: Uuid) -> Result<Option<JobRow>, Error> {
        let key: Option<(String, String)> = sqlx::query_as(
            "select w.class, w.key
               from (select s.executor_class_ref as class, s.step_run_id || '/' || s.work_no as key, s.work_no
                       from workflow.v_step_run s where s.step_run_id = $1
                     union all
                     select t.executor_class_ref, t.task_run_id || '/' || t.work_no, t.work_no from workflow.v_task_run t where t.task_run_id = $1) w
              where w.work_no > 0",
        )
        .bind(run_id)
        .fetch_optional(&self.pool)
        .await?;
        match key {
            Some((class, key)) => self.job(job_id(&class, &key)).await,
            None => Ok(None),
        }
    }

    /// A live unit with its text, by its id or its address.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn unit(&self, id_or_address: &str) -> Result<Option<Value>, Error> {
        Ok(sqlx::query_scalar(
            "select jsonb_build_object('unit_id', u.id, 'address', u.canonical_address, 'document', u.doc_code, 'unit_kind', u.unit_kind, 'section_type', u.section_type,
                      'title', v.title, 'lifecycle_status', u.lifecycle_status, 'version_id', v.id, 'version_seq', v.version_seq,
                      'content_hash', v.content_hash, 'body', v.body)
               from iu.v_information_unit u join iu.v_unit_version v on v.id = u.version_anchor_ref
              where u.deleted_at is null and (u.canonical_address = $1 or u.id::text = $1)",
        )
        .bind(id_or_address)
        .fetch_optional(&self.pool)
        .await?)
    }
}

/// The id of the job with this key in this class, as `queue.job_id` makes it: a UUID version 8 from SHA-256.
fn job_id(class: &str, key: &str) -> Uuid {
    let digest = Sha256::digest(format!("chancery.job.v1,{class},{key}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    // The nibble of the version is 8 and that of the variant is a.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x0f) | 0xa0;
    Builder::from_bytes(bytes).into_uuid()
}
