//! What an agent sees: itself, its work, and one thing at a time.

use std::collections::BTreeSet;

use chancery_engine::approval::{self, Missing};
use chancery_engine::workflow as engine;
use chancery_model::refusal::Code;
use chancery_store::workflow::WorkRow;
use serde_json::{Value, json};
use uuid::Uuid;

use super::propose::parsed;
use super::tools::{Problems, Show, Shown};
use super::wire::{Fault, INVALID_PARAMS, RESOURCE_NOT_FOUND};
use super::work::is_leased;
use super::{Server, cut};
use crate::failure::Failure;

/// So much of each list; more of it is no help to who has to choose.
const MOST: i64 = 20;
const MOST_PROBLEMS: i32 = 20;
const STEP: &str = "chancery://step/";
const WORKFLOW_RUN: &str = "chancery://workflow-run/";
const INTERNAL_ERROR: i64 = -32603;

impl Server {
    pub(super) async fn what_can_i_do(&self) -> Result<Value, Failure> {
        let who = self.standing().await?;
        let (mut holds, mut could_claim) = (Vec::new(), Vec::new());
        let own = self.store.own_work(&self.principal, &self.worker, &self.classes, MOST).await?;
        for one in own {
            let Some(work) = self.store.work(one.run_id).await? else { continue };
            let mut told = brief(&work);
            told["actions"] = self.actions(&one.run_kind, one.run_id).await?;
            if one.held {
                holds.push(told);
            } else {
                told["claim_with"] = if is_leased(&work) {
                    json!({ "class": work.executor_class })
                } else {
                    json!({ "id": work.run_id })
                };
                could_claim.push(told);
            }
        }
        let mut proposals = Vec::new();
        for (kind, id) in self.store.proposed_by(&self.principal, MOST).await? {
            proposals.push(self.proposal(&kind, id).await?);
        }
        let mut approvals = Vec::new();
        for id in self.store.asked_by(&self.principal, MOST).await? {
            let Some(one) = self.store.approval(id).await? else { continue };
            approvals.push(json!({
                "approval_id": id, "kind": one.kind, "subject_ref": one.subject_ref, "title": one.title, "state": one.state,
                "expires_at": one.expires_at, "missing": Missing::of(&one.quorum, &one.tally),
            }));
        }
        Ok(json!({
            "principal": who.name, "kind": who.kind, "active": who.active, "has_key": who.live_keys > 0,
            "actor_classes": who.actor_classes, "permissions": who.permissions, "executor_classes": self.classes,
            "holds": holds, "could_claim": could_claim, "proposals": proposals, "approvals_asked_for": approvals,
            "never": "Agents do not vote. People decide what you propose and ask for.",
        }))
    }

    async fn actions(&self, run_kind: &str, id: Uuid) -> Result<Value, Failure> {
        Ok(json!(self.store.fn_actions(run_kind, id, &self.principal).await?))
    }

    pub(super) async fn problems(&self, args: Problems) -> Result<Value, Failure> {
        let who = &self.principal;
        Ok(match args.category.as_deref() {
            None => json!(self.store.fn_problems(who).await?),
            Some(category) => {
                let after = args.after.as_deref();
                json!(
                    self.store
                        .fn_problem_list(who, category, None, after, Some(MOST_PROBLEMS))
                        .await?
                )
            }
        })
    }

    pub(super) async fn show(&self, args: Show) -> Result<Value, Failure> {
        let shown = self.shown(args.kind, &args.id).await?;
        let Some(pointer) = args.part else { return Ok(shown) };
        cut::part(&shown, &pointer, args.from)
            .ok_or_else(|| Failure::Usage(format!("there is no part {pointer:?} of it")))
    }

    async fn shown(&self, kind: Shown, id: &str) -> Result<Value, Failure> {
        match kind {
            Shown::Step | Shown::Task => self.step(parsed(id)?).await,
            Shown::WorkflowRun => self.workflow_run(parsed(id)?).await,
            Shown::Run => self.run(parsed(id)?).await,
            Shown::Approval => self.approval(parsed(id)?).await,
            Shown::WorkflowChange => {
                self.require("workflow.read").await?;
                let id = parsed(id)?;
                let mut told = self.proposal("workflow_change", id).await?;
                told["diff"] = self.store.fn_workflow_change_diff(id).await?;
                told["history"] = json!(self.store.workflow_history(id).await?);
                Ok(told)
            }
            Shown::Proposal => {
                self.require("workflow.read").await?;
                let id = parsed(id)?;
                let mut told = self.proposal("proposal", id).await?;
                told["evidence"] = json!(self.store.proposal_usage(id).await?);
                told["history"] = json!(self.store.workflow_history(id).await?);
                Ok(told)
            }
            Shown::Unit => {
                self.require("doc.read").await?;
                match self.store.unit(id).await? {
                    Some(unit) => Ok(unit),
                    None => Err(self.refuse(Code::RI028, json!({ "address": id })).await),
                }
            }
        }
    }

    async fn step(&self, id: Uuid) -> Result<Value, Failure> {
        self.require("workflow.read").await?;
        let work = self.find(id).await?;
        let kind = work.run_kind.clone();
        let mut told = json!(engine::detail(&self.store, work).await?);
        told["actions"] = self.actions(&kind, id).await?;
        Ok(told)
    }

    async fn workflow_run(&self, id: Uuid) -> Result<Value, Failure> {
        self.require("workflow.read").await?;
        let mut status = engine::status(&self.store, id).await?;
        let hidden: BTreeSet<Uuid> =
            self.store.hidden_steps(&self.principal, id).await?.into_iter().collect();
        // What the agent may not see is not named anywhere.
        let names: BTreeSet<String> = status
            .steps
            .iter()
            .filter(|step| hidden.contains(&step.run_id))
            .map(|step| step.path.clone())
            .collect();
        status.steps.retain(|step| !hidden.contains(&step.run_id));
        status.tasks.retain(|task| !hidden.contains(&task.step_run_id));
        status.held_up.retain(|one| !names.contains(&one.step) && !names.contains(&one.by));
        status.critical_path.retain(|step| !names.contains(step));
        status.why = status.why.filter(|why| !names.contains(&why.step));
        if status.run.decisive_step_run_id.is_some_and(|step| hidden.contains(&step)) {
            status.run.decisive_step_run_id = None;
            status.run.decisive_step = None;
        }
        let steps: Vec<Value> = status.steps.iter().map(brief).collect();
        let tasks: Vec<Value> = status.tasks.iter().map(brief).collect();
        let mut told = json!(status);
        told["steps"] = json!(steps);
        told["tasks"] = json!(tasks);
        told["actions"] = self.actions("workflow_run", id).await?;
        Ok(told)
    }

    async fn run(&self, id: Uuid) -> Result<Value, Failure> {
        self.require("run.read").await?;
        let Some(run) = self.store.run(id).await? else {
            return Err(self.refuse(Code::RS001, json!({ "run_id": id })).await);
        };
        let mut told = json!(run);
        told["actions"] = self.actions("custom", id).await?;
        Ok(told)
    }

    async fn approval(&self, id: Uuid) -> Result<Value, Failure> {
        let asked = self.store.approval(id).await?;
        // What one asked for oneself one may look at.
        if asked.is_none_or(|asked| asked.proposer != self.principal) {
            self.require("approval.read").await?;
        }
        Ok(json!(approval::show(&self.store, id).await?))
    }

    async fn proposal(&self, kind: &str, id: Uuid) -> Result<Value, Failure> {
        let found = if kind == "workflow_change" {
            self.store.workflow_change(id).await?.map(|change| json!(change))
        } else {
            self.store.proposal(id).await?.map(|proposal| json!(proposal))
        };
        let Some(mut told) = found else {
            return Err(self.refuse(Code::RW001, json!({ "kind": kind, "id": id })).await);
        };
        told["about"] = json!(kind);
        told["actions"] = self.actions(kind, id).await?;
        Ok(told)
    }

    /// What can be read by address: the agent's own work, and the runs that it belongs to.
    pub(super) async fn resources(&self) -> Result<Value, Fault> {
        let found = async {
            let own =
                self.store.own_work(&self.principal, &self.worker, &self.classes, MOST).await?;
            let mut resources = Vec::new();
            let mut runs = BTreeSet::new();
            for one in own {
                let Some(work) = self.store.work(one.run_id).await? else { continue };
                resources.push(json!({
                    "uri": format!("{STEP}{}", work.run_id), "name": work.path, "title": work.name_en,
                    "description": format!("{} ({})", work.run_kind, work.state_code), "mimeType": "application/json",
                }));
                runs.insert(work.workflow_run_id);
            }
            for id in runs {
                let Some(run) = self.store.workflow_run(id).await? else { continue };
                resources.push(json!({
                    "uri": format!("{WORKFLOW_RUN}{id}"), "name": run.workflow,
                    "description": format!("workflow run ({})", run.state_code), "mimeType": "application/json",
                }));
            }
            Ok::<Value, Failure>(json!({ "resources": resources }))
        };
        found.await.map_err(|failure| Fault(INTERNAL_ERROR, failure.as_text()))
    }

    pub(super) async fn read_resource(&self, params: &Value) -> Result<Value, Fault> {
        let Some(uri) = params["uri"].as_str() else {
            return Err(Fault(INVALID_PARAMS, "uri is a text".to_owned()));
        };
        let unknown = || Fault(RESOURCE_NOT_FOUND, format!("there is no resource {uri}"));
        let read = if let Some(id) = uri.strip_prefix(STEP) {
            self.step(id.parse().map_err(|_| unknown())?).await
        } else if let Some(id) = uri.strip_prefix(WORKFLOW_RUN) {
            self.workflow_run(id.parse().map_err(|_| unknown())?).await
        } else {
            return Err(unknown());
        };
        let read = read.map_err(|failure| match failure.code() {
            Some(_) => Fault(RESOURCE_NOT_FOUND, failure.as_text()),
            None => Fault(INTERNAL_ERROR, failure.as_text()),
        })?;
        let text = serde_json::to_string_pretty(&cut::shortened(&read)).expect("plain data");
        Ok(json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }))
    }
}

/// Addresses that can be read.
pub(super) fn templates() -> Value {
    json!([
        {
            "uriTemplate": format!("{STEP}{{id}}"), "name": "step", "title": "A step or task", "mimeType": "application/json",
            "description": "A step or task with its inputs, outputs, waits, comments, moves and what can be done to it.",
        },
        {
            "uriTemplate": format!("{WORKFLOW_RUN}{{id}}"), "name": "workflow-run", "title": "A run of a workflow",
            "mimeType": "application/json", "description": "Where a run stands, why, and its steps.",
        },
    ])
}

/// A step or task as far as one needs to know it to choose.
fn brief(work: &WorkRow) -> Value {
    json!({
        "id": work.run_id, "kind": work.run_kind, "path": work.path, "title": work.name_en, "workflow_run_id": work.workflow_run_id,
        "state": work.state_code, "facet": work.facet, "skipped": work.skipped, "executor_class": work.executor_class,
        "pic": work.pic_id, "deadline": work.deadline, "past_deadline": work.past_deadline, "block_reason": work.block_reason,
    })
}
