//! Work on steps and tasks. What people do is moved in a class of people, if the agent holds one; what executors do is worked on under
//! the lease of its job, and the report settles the job.

use chancery_engine::workflow::{
    self as engine, Report, Said, Step, Verb, WaitFor, moment, wait_evidence,
};
use chancery_model::refusal::Code;
use chancery_store::workflow::WorkRow;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Server;
use super::tools::{Block, Claim, Comment, Complete, Fail, Wait};
use crate::failure::Failure;
use crate::saying::position_events;

/// Whether an executor does it, under a lease.
pub(super) fn is_leased(work: &WorkRow) -> bool {
    !matches!(work.executor_class.as_str(), "human" | "sub_workflow")
}

impl Server {
    /// A step or task that the agent may see; what it may not see is not there.
    pub(super) async fn find(&self, id: Uuid) -> Result<WorkRow, Failure> {
        let work = engine::find(&self.store, &Step::Id(id)).await?;
        if !self.store.fn_work_seen(&work.run_kind, id, &self.principal).await? {
            return Err(self.refuse(Code::RW001, json!({ "kind": "step", "id": id })).await);
        }
        Ok(work)
    }

    pub(super) async fn claim(&self, args: Claim) -> Result<Value, Failure> {
        self.require("work.move").await?;
        let said = args.said();
        match (args.id, args.class) {
            (Some(id), None) => {
                let work = self.find(id).await?;
                if is_leased(&work) {
                    return Err(Failure::Usage(format!(
                        "{} is done under a lease: claim with class {:?}; the queue says which step comes next",
                        work.path, work.executor_class
                    )));
                }
                self.say(&work, &said, &Verb::Claim).await
            }
            (None, Some(class)) => {
                if !self.classes.contains(&class) {
                    return Err(Failure::Usage(format!(
                        "this server takes up work of the classes {:?}; it was not started with --class {class}",
                        self.classes
                    )));
                }
                let actor = self.actor().await?;
                let taken = engine::take_next(&self.store, &actor, &self.worker, &class).await?;
                position_events(&self.store).await;
                Ok(match taken {
                    Some(taken) => json!({ "claimed": taken }),
                    None => {
                        json!({ "claimed": null, "note": format!("nothing of the class {class} is due") })
                    }
                })
            }
            _ => Err(Failure::Usage("claim takes either an id or a class".to_owned())),
        }
    }

    pub(super) async fn complete(&self, args: Complete) -> Result<Value, Failure> {
        self.require("work.move").await?;
        let said = args.said();
        let work = self.find(args.id).await?;
        let output = Value::Object(args.output);
        if is_leased(&work) {
            return self.report(&work, &Report::Done(output)).await;
        }
        let actor = self.actor().await?;
        let report = engine::complete(&self.store, &actor, &said, &work, &output).await?;
        position_events(&self.store).await;
        Ok(json!(report))
    }

    pub(super) async fn block(&self, args: Block) -> Result<Value, Failure> {
        self.require("work.move").await?;
        let said = args.said();
        let work = self.find(args.id).await?;
        if is_leased(&work) {
            return self.report(&work, &Report::Blocked(args.because)).await;
        }
        self.say(&work, &said, &Verb::Block(args.because)).await
    }

    pub(super) async fn wait(&self, args: Wait) -> Result<Value, Failure> {
        self.require("work.move").await?;
        let said = args.said();
        let mut waits: Vec<WaitFor> = Vec::new();
        waits.extend(args.for_people.into_iter().map(WaitFor::Person));
        let decisions = args.for_decisions.into_iter();
        waits.extend(decisions.map(|one| WaitFor::Decision { kind: one.kind, of: one.of }));
        waits.extend(args.for_steps.into_iter().map(WaitFor::Step));
        for until in &args.until {
            waits.push(WaitFor::Until(moment(until).map_err(Failure::Usage)?));
        }
        let work = self.find(args.id).await?;
        let evidence = wait_evidence(&waits);
        if is_leased(&work) {
            return self.report(&work, &Report::Waiting(evidence)).await;
        }
        self.say(&work, &said, &Verb::Wait(evidence)).await
    }

    pub(super) async fn fail(&self, args: Fail) -> Result<Value, Failure> {
        self.require("work.move").await?;
        let said = args.said();
        let work = self.find(args.id).await?;
        if !is_leased(&work) {
            return self.say(&work, &said, &Verb::CannotComplete(args.detail)).await;
        }
        let (classification, usual) = match args.permanent {
            true => ("permanent", "bad_request"),
            false => ("transient", "unclassified"),
        };
        let failed = Report::Failed {
            failure_class: args.failure_class.unwrap_or_else(|| usual.to_owned()),
            classification: classification.to_owned(),
            detail: args.detail,
        };
        self.report(&work, &failed).await
    }

    pub(super) async fn comment(&self, args: Comment) -> Result<Value, Failure> {
        self.require("work.move").await?;
        let work = self.find(args.id).await?;
        let said = Said { reason: Some(args.text), key: args.key, ..Said::default() };
        let actor = self.actor().await?;
        Ok(json!(engine::comment(&self.store, &actor, &said, &work).await?))
    }

    async fn say(&self, work: &WorkRow, said: &Said, verb: &Verb) -> Result<Value, Failure> {
        let actor = self.actor().await?;
        let report = engine::act(&self.store, &actor, said, work, verb).await?;
        position_events(&self.store).await;
        Ok(json!(report))
    }

    async fn report(&self, work: &WorkRow, report: &Report) -> Result<Value, Failure> {
        let actor = self.actor().await?;
        let done = engine::report(&self.store, &actor, &self.worker, work, report).await?;
        position_events(&self.store).await;
        Ok(json!(done))
    }
}
