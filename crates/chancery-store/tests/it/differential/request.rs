//! A request and an answer in the words of both sides.

use chancery_model::refusal;
use chancery_reference::model::{Command, Outcome, Run, Start};
use chancery_reference::problem::Problem;
use chancery_store::fsm::{self, MoveReport, Preview};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use uuid::Uuid;

/// A request with what the model does not see of it.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// Births are asked of fn_run_start; `from` and `to` are not sent with them.
    pub(super) birth: bool,
    pub(super) command: Command,
    pub(super) payload: Option<Value>,
    pub(super) login: Role,
}

impl Request {
    /// Distinct for distinct guards, audit reference, facet and payload: evidence is part of what a key stands for.
    fn evidence(&self) -> Value {
        let mut evidence = json!({ "guards": self.command.guard_truths });
        if self.command.audit_ref {
            evidence["audit_ref"] = json!("A-1");
        }
        if let Some(facet) = self.command.facet {
            evidence["facet"] = json!(facet);
        }
        if let Some(payload) = &self.payload {
            evidence["event"] = payload.clone();
        }
        evidence
    }

    pub(super) fn to_engine(&self) -> fsm::Move {
        let asked = &self.command;
        fsm::Move {
            run_id: id_of(&asked.run),
            run_kind: "custom".to_owned(),
            from: asked.from.map(str::to_owned),
            to: asked.to.to_owned(),
            actor_class: asked.actor_class.to_owned(),
            trigger_kind: asked.trigger_kind.to_owned(),
            trigger_ref: asked.trigger_ref.to_owned(),
            evidence: self.evidence(),
            principal: asked.principal.clone(),
            idempotency_key: asked.idempotency_key.clone(),
            reason: None,
            signed: None,
        }
    }

    pub(super) fn birth_to_engine(&self, machine: &str) -> fsm::Start {
        let asked = self.to_engine();
        fsm::Start {
            run_id: asked.run_id,
            machine: machine.to_owned(),
            data: json!({}),
            actor_class: asked.actor_class,
            trigger_kind: asked.trigger_kind,
            trigger_ref: asked.trigger_ref,
            evidence: asked.evidence,
            principal: asked.principal,
            idempotency_key: asked.idempotency_key,
            reason: None,
            parent: None,
            trace_id: None,
            signed: None,
        }
    }

    pub(super) fn birth_to_model(&self) -> Start {
        let asked = self.command.clone();
        Start {
            run: asked.run,
            actor_class: asked.actor_class,
            trigger_kind: asked.trigger_kind,
            trigger_ref: asked.trigger_ref,
            principal: asked.principal,
            idempotency_key: asked.idempotency_key,
            guard_truths: asked.guard_truths,
            audit_ref: asked.audit_ref,
            facet: asked.facet,
            event_payload_valid: asked.event_payload_valid,
        }
    }
}

/// The model knows runs by any name; here the name is the id.
pub(super) fn id_of(run: &str) -> Uuid {
    run.parse().expect("runs are named by their id")
}

/// What both sides can be held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Made {
        replayed: bool,
        seq: u64,
        from: Option<String>,
        to: String,
        event: Option<String>,
        transition: String,
    },
    /// The names of the problems, a guard's with the guard.
    Refused(Vec<String>),
}

impl Answer {
    pub(super) fn of_engine(answer: Result<MoveReport, Error>) -> Self {
        match answer {
            Ok(report) if report.ok => Self::Made {
                replayed: report.replayed,
                seq: report.seq.and_then(|seq| seq.try_into().ok()).expect("a move has a number"),
                from: report.from,
                to: report.to,
                event: report.emitted_event_type,
                transition: label(&report.transition_id.expect("a move has a row")).to_owned(),
            },
            // A batch reports what a single call raises.
            Ok(report) => Self::refused(&report.problems),
            Err(error) => {
                let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
                assert_eq!(
                    refusal.problems.first().map(|problem| problem.code),
                    Some(refusal.code)
                );
                Self::refused(&refusal.problems)
            }
        }
    }

    fn refused(problems: &[refusal::Problem]) -> Self {
        let name =
            |problem: &refusal::Problem| match problem.facts.get("guard").and_then(Value::as_str) {
                Some(guard) => format!("{}({guard})", problem.problem),
                None => problem.problem.clone(),
            };
        Self::Refused(problems.iter().map(name).collect())
    }

    /// `run` as the model has it: a replay's answer stands in its history.
    pub(super) fn of_model(outcome: &Outcome, run: Option<&Run>) -> Self {
        let made =
            |replayed, seq, from: Option<&str>, to: &str, event: Option<&str>, transition: &str| {
                Self::Made {
                    replayed,
                    seq,
                    from: from.map(str::to_owned),
                    to: to.to_owned(),
                    event: event.map(str::to_owned),
                    transition: transition.to_owned(),
                }
            };
        match outcome {
            Outcome::Accepted { from, to, seq, event, transition } => {
                made(false, *seq, *from, to, *event, transition)
            }
            Outcome::Replayed { seq } => {
                let history = run.map_or(&[][..], Run::history);
                let first =
                    history.iter().find(|entry| entry.seq == *seq).expect("the entry it repeats");
                made(true, *seq, first.from, first.to, first.event, first.transition)
            }
            Outcome::Refused(problems) => {
                Self::Refused(problems.iter().copied().map(problem_name).collect())
            }
        }
    }

    /// What a preview can say of it: a preview has no key, no number and no history row.
    pub(super) fn as_preview(&self) -> (bool, Option<String>, Vec<String>) {
        match self {
            Self::Made { transition, .. } => (true, Some(transition.clone()), vec![]),
            Self::Refused(problems) => (false, None, problems.clone()),
        }
    }
}

pub(super) fn preview_of_engine(preview: &Preview) -> (bool, Option<String>, Vec<String>) {
    let Answer::Refused(problems) = Answer::refused(&preview.problems) else {
        unreachable!("built as a refusal")
    };
    // A refused preview still names the row it looked at; the model does not.
    let row = preview.transition_id.as_deref().filter(|_| preview.ok).map(label).map(str::to_owned);
    (preview.ok, row, problems)
}

fn problem_name(problem: Problem) -> String {
    match problem {
        Problem::TransitionRefusedByGuard { guard } => format!("{}({guard})", problem.name()),
        other => other.name().to_owned(),
    }
}

/// `<machine>@<version>#<label>:…`
pub(super) fn label(transition_id: &str) -> &str {
    let (_, rest) = transition_id.split_once('#').expect("a label");
    rest.split_once(':').expect("the end of the label").0
}
