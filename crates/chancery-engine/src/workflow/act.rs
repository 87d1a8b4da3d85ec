//! What a person does to a run, signed over exactly what the door writes into the log.

use chancery_model::canonical;
use chancery_model::envelope::{Birth, Move};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::fsm::Signed;
use chancery_store::workflow::{NewRun, RunCall, RunReport, Way};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::Error;
use crate::cutter::refused;
use crate::run::Actor;

/// Who says something beside the verb, and how; what is left out is looked up where the rules leave no choice.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The class to act in.
    pub class: Option<String>,
    /// Why, in words.
    pub reason: Option<String>,
    /// What stands behind it; by default the person's own word.
    pub audit_ref: Option<String>,
    /// By default what is said again right away is the same.
    pub key: Option<String>,
}

impl Said {
    /// Evidence with its reference for the audit.
    pub(super) fn evidence(&self, actor: &Actor, facts: Value) -> Value {
        let mut evidence = match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        };
        let own_word = || format!("the word of {}", actor.principal);
        let audit_ref = self.audit_ref.clone().unwrap_or_else(own_word);
        evidence.insert("audit_ref".to_owned(), json!(audit_ref));
        Value::Object(evidence)
    }
}

/// A run that is to begin.
#[derive(Debug, Clone)]
pub struct Start {
    pub workflow: String,
    /// An object.
    pub inputs: Value,
    /// The same id with the same request is the same run.
    pub run_id: Option<Uuid>,
    pub trace_id: Option<String>,
}

/// What a reviewer does to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMove {
    Pause,
    Resume,
    /// With the approval of somebody else.
    Cancel(Uuid),
}

/// Begins a run of the newest version of a workflow. A start with a key is done once; without one every start is a new run.
///
/// # Errors
/// The database's refusal, or a class that only the caller can choose.
pub async fn start(
    store: &Store,
    actor: &Actor,
    said: &Said,
    start: &Start,
) -> Result<RunReport, Error> {
    let births = store.workflow_births("workflow_run").await?;
    let class = class_of(store, actor, said, &births, None).await?;
    let run_id = start.run_id.unwrap_or_else(|| match &said.key {
        Some(key) => {
            let name = json!(["workflow_start", start.workflow, actor.principal, key]);
            Uuid::new_v5(&Uuid::NAMESPACE_OID, name.to_string().as_bytes())
        }
        None => Uuid::now_v7(),
    });
    let key = said.key.as_deref().unwrap_or("create");
    let evidence = json!({ "inputs_sha256": hex::encode(canonical::sha256(&start.inputs)) });
    let signed = Statement {
        run_kind: "workflow_run",
        run_id,
        to: births.first().map_or("", |birth| birth.to.as_str()),
        class: &class,
        trigger: ("rpc", "workflow_create"),
        evidence: &evidence,
        reason: None,
        key,
        born_as: Some("workflow_run"),
    }
    .signed_by(actor)?;
    let run = NewRun {
        workflow_run_id: run_id,
        workflow: &start.workflow,
        inputs: &start.inputs,
        evidence: &evidence,
        principal: &actor.principal,
        actor_class: &class,
        idempotency_key: key,
        trace_id: start.trace_id.as_deref(),
        signed,
    };
    Ok(store.fn_workflow_start(&run).await?)
}

/// Puts a run on hold, lets it go on, or calls it off.
///
/// # Errors
/// The database's refusal, or a class that only the caller can choose.
pub async fn move_run(
    store: &Store,
    actor: &Actor,
    said: &Said,
    run_id: Uuid,
    what: RunMove,
) -> Result<RunReport, Error> {
    let Some(run) = store.workflow_run(run_id).await? else {
        return Err(
            refused(store, Code::RW001, json!({ "kind": "workflow_run", "id": run_id })).await
        );
    };
    let (call, facts) = match what {
        RunMove::Pause => ("workflow_pause", json!({})),
        RunMove::Resume => ("workflow_resume", json!({})),
        RunMove::Cancel(approval_id) => ("workflow_cancel", json!({ "approval_id": approval_id })),
    };
    let evidence = said.evidence(actor, facts);
    let ways = store.workflow_ways(&run.state_machine_id, call, &run.state_code).await?;
    let class = class_of(store, actor, said, &ways, Some(&run.state_code)).await?;
    let (to, trigger_kind) = target(&ways, &run.state_code, &class);
    let key = key_of(store, actor, said, run_id, call, run.seq, &evidence).await?;
    let reason = said.reason.as_deref();
    let signed = Statement {
        run_kind: "workflow_run",
        run_id,
        to,
        class: &class,
        trigger: (trigger_kind, call),
        evidence: &evidence,
        reason,
        key: &key,
        born_as: None,
    }
    .signed_by(actor)?;
    let call = RunCall {
        workflow_run_id: run_id,
        call,
        evidence: &evidence,
        principal: &actor.principal,
        actor_class: &class,
        idempotency_key: &key,
        reason,
        signed,
    };
    Ok(store.fn_workflow_move(&call).await?)
}

/// The move that a door makes of what somebody says.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) run_kind: &'a str,
    pub(super) run_id: Uuid,
    pub(super) to: &'a str,
    pub(super) class: &'a str,
    /// `(kind, ref)`.
    pub(super) trigger: (&'a str, &'a str),
    pub(super) evidence: &'a Value,
    pub(super) reason: Option<&'a str>,
    pub(super) key: &'a str,
    /// The machine, for a birth. What a run is born with is named by digest in its evidence.
    pub(super) born_as: Option<&'a str>,
}

impl Statement<'_> {
    pub(super) fn signed_by(&self, actor: &Actor) -> Result<Option<Signed>, Error> {
        let statement = Move {
            run_kind: self.run_kind,
            run_id: self.run_id,
            to: self.to,
            principal: &actor.principal,
            actor_class: self.class,
            trigger_kind: self.trigger.0,
            trigger_ref: self.trigger.1,
            evidence: self.evidence,
            reason: self.reason,
            idempotency_key: self.key,
            birth: self.born_as.map(|machine| Birth { machine, data: &Value::Null }),
        };
        actor.sign_statement(&statement.statement())
    }
}

/// Classes in which machinery acts: a person who holds one besides another acts in the other.
const MACHINERY: [&str; 3] = ["executor_worker", "mow_orchestrator", "system"];

/// The class to act in: the one that was named, or the only one that the actor holds and that a row from here is for. This decides
/// nothing: whatever comes out, the database judges it.
pub(super) async fn class_of(
    store: &Store,
    actor: &Actor,
    said: &Said,
    ways: &[Way],
    state: Option<&str>,
) -> Result<String, Error> {
    if let Some(class) = &said.class {
        return Ok(class.clone());
    }
    let principals = store.principals().await?;
    let held: &[String] =
        principals.iter().find(|p| p.name == actor.principal).map_or(&[], |p| &p.actor_classes);
    chosen(&actor.principal, held, ways, state)
}

fn chosen(
    principal: &str,
    held: &[String],
    ways: &[Way],
    state: Option<&str>,
) -> Result<String, Error> {
    let fitting = |from_here: bool| {
        let mut classes: Vec<&str> = ways
            .iter()
            .filter(|way| !from_here || way.from.as_deref() == state)
            .map(|way| way.actor.as_str())
            .filter(|class| held.iter().any(|one| one == class))
            .collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.iter().any(|class| !MACHINERY.contains(class)) {
            classes.retain(|class| !MACHINERY.contains(class));
        }
        classes
    };
    match fitting(true).as_slice() {
        [only] => Ok((*only).to_owned()),
        // Nothing fits: the database says why, for a class the actor holds or a row asks for.
        [] => Ok(fitting(false)
            .first()
            .map(|class| (*class).to_owned())
            .or_else(|| held.iter().find(|class| *class != "observer").cloned())
            .or_else(|| ways.first().map(|way| way.actor.clone()))
            .unwrap_or_default()),
        // What is born is the same whoever of them brings it into being.
        [first, ..] if state.is_none() => Ok((*first).to_owned()),
        several => Err(Error::Ambiguous(format!(
            "{principal} holds several classes that may do this ({}); choose one with --class",
            several.join(", ")
        ))),
    }
}

/// Where a call leads, and by what kind of trigger: as the door looks it up.
pub(super) fn target<'a>(ways: &'a [Way], state: &str, class: &str) -> (&'a str, &'a str) {
    let from_here = |way: &&Way| way.from.as_deref() == Some(state);
    let own = |way: &&Way| way.actor == class;
    let all = || ways.iter().filter(|way| way.from.is_some());
    let found = all()
        .filter(from_here)
        .find(own)
        .or_else(|| all().find(from_here))
        .or_else(|| all().find(own))
        .or_else(|| all().next());
    found.map_or(("", "rpc"), |way| (way.to.as_str(), way.trigger_kind.as_str()))
}

/// The key of what is said. When the newest move is the very same, by the same person, it is that one again: the answer got lost, or
/// a key was pressed twice.
pub(super) async fn key_of(
    store: &Store,
    actor: &Actor,
    said: &Said,
    run_id: Uuid,
    call: &str,
    seq: i64,
    evidence: &Value,
) -> Result<String, Error> {
    if let Some(key) = &said.key {
        return Ok(key.clone());
    }
    let history = store.workflow_history(run_id).await?;
    let again = history.last().filter(|last| {
        last.trigger_ref == call
            && last.principal == actor.principal
            && last.evidence == *evidence
            && last.reason == said.reason
    });
    Ok(again.map_or_else(|| format!("{call}:{seq}"), |last| last.idempotency_key.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(from: &str, to: &str, actor: &str) -> Way {
        Way {
            from: Some(from.to_owned()),
            to: to.to_owned(),
            actor: actor.to_owned(),
            trigger_kind: "rpc".to_owned(),
        }
    }

    #[test]
    fn a_person_acts_in_the_class_that_the_row_is_for() {
        let ways = [
            way("ready", "in_progress", "executor_worker"),
            way("ready", "in_progress", "pic_human"),
            way("done", "in_progress", "reviewer"),
        ];
        let held = |classes: &[&str]| classes.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        let class = |classes: &[&str], state| chosen("a", &held(classes), &ways, Some(state)).ok();
        assert_eq!(class(&["reviewer", "pic_human"], "ready").as_deref(), Some("pic_human"));
        assert_eq!(class(&["executor_worker", "pic_human"], "ready").as_deref(), Some("pic_human"));
        assert_eq!(class(&["executor_worker"], "ready").as_deref(), Some("executor_worker"));
        assert_eq!(class(&["reviewer"], "ready").as_deref(), Some("reviewer"), "the door says why");
        assert_eq!(class(&["observer"], "ready").as_deref(), Some("executor_worker"));
        let several = [way("x", "y", "pic_human"), way("x", "y", "reviewer")];
        let both = held(&["pic_human", "reviewer"]);
        assert!(
            chosen("a", &both, &several, Some("x"))
                .is_err_and(|e| e.to_string().contains("--class"))
        );
    }

    /// The door takes the row from here for this class first, then any from here, then any.
    #[test]
    fn a_call_leads_where_the_door_says() {
        let ways = [
            way("overdue", "completed", "pic_human"),
            way("in_progress", "completed", "executor_worker"),
            way("in_progress", "elsewhere", "pic_human"),
        ];
        assert_eq!(target(&ways, "in_progress", "pic_human").0, "elsewhere");
        assert_eq!(target(&ways, "in_progress", "reviewer").0, "completed");
        assert_eq!(target(&ways, "ready", "pic_human").0, "completed");
        assert_eq!(target(&[], "ready", "pic_human").0, "");
    }
}
