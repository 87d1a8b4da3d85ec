//! The transition engine in memory: the same questions as the database, answered from the tables.
//!
//! Guards are not evaluated: each command says which of them hold. What the guards of a machine mean
//! is the concern of the rooms that register them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::problem::Problem;
use crate::rules::{Machine, Rule};

/// Somebody who acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Principal {
    pub active: bool,
    pub classes: BTreeSet<&'static str>,
}

/// Asks for the birth of a run; its target is always the initial state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Start {
    pub run: String,
    pub actor_class: &'static str,
    pub trigger_kind: &'static str,
    pub trigger_ref: &'static str,
    pub principal: String,
    pub idempotency_key: String,
    pub guard_truths: BTreeMap<&'static str, bool>,
    pub audit_ref: bool,
    pub facet: Option<&'static str>,
    pub event_payload_valid: bool,
}

/// Asks for a transition of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    pub run: String,
    /// `None` means "from whatever state it is in now".
    pub from: Option<&'static str>,
    pub to: &'static str,
    pub actor_class: &'static str,
    pub trigger_kind: &'static str,
    pub trigger_ref: &'static str,
    pub principal: String,
    pub idempotency_key: String,
    /// Counts as part of the evidence; a guard that is not named here does not hold.
    pub guard_truths: BTreeMap<&'static str, bool>,
    pub audit_ref: bool,
    pub facet: Option<&'static str>,
    pub event_payload_valid: bool,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Accepted {
        from: Option<&'static str>,
        to: &'static str,
        seq: u64,
        event: Option<&'static str>,
        transition: &'static str,
    },
    /// The key was used for this very request: the history entry of that seq is the answer.
    Replayed {
        seq: u64,
    },
    Refused(Vec<Problem>),
}

/// One line of a run's history. The birth is seq 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub seq: u64,
    pub from: Option<&'static str>,
    pub to: &'static str,
    pub actor: &'static str,
    pub event: Option<&'static str>,
    pub transition: &'static str,
}

/// An event of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Emitted {
    pub run: String,
    pub seq: u64,
    pub event: &'static str,
}

/// What a key was used for.
#[derive(Debug, Clone)]
struct Used {
    birth: bool,
    request: Command,
    from: Option<&'static str>,
    seq: u64,
}

/// A run as the engine keeps it.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) state: &'static str,
    pub(super) seq: u64,
    pub(super) facet: Option<&'static str>,
    pub(super) history: Vec<Entry>,
    keys: BTreeMap<String, Used>,
}

impl Run {
    pub fn state(&self) -> &'static str {
        self.state
    }

    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The facet the run waits in; `None` in a state without facets.
    pub fn facet(&self) -> Option<&'static str> {
        self.facet
    }

    pub fn history(&self) -> &[Entry] {
        &self.history
    }
}

/// The runs of one machine, the principals who move them, and what was emitted.
#[derive(Debug, Clone)]
pub struct Model {
    pub(super) machine: Machine,
    pub(super) runs: BTreeMap<String, Run>,
    pub(super) outbox: Vec<Emitted>,
    rules: Vec<Rule>,
    proposed: BTreeSet<(Option<&'static str>, &'static str, &'static str)>,
    principals: BTreeMap<String, Principal>,
}

impl Model {
    pub fn new(machine: &Machine) -> Self {
        Self {
            machine: *machine,
            runs: BTreeMap::new(),
            outbox: Vec::new(),
            rules: (machine.rules)(),
            proposed: BTreeSet::new(),
            principals: BTreeMap::new(),
        }
    }

    /// Adds a principal or replaces what is known of it.
    pub fn set_principal(&mut self, name: &str, principal: Principal) {
        self.principals.insert(name.to_owned(), principal);
    }

    /// Marks a row as proposed: it stays in the table and cannot fire.
    pub fn propose(&mut self, rule: &Rule) {
        self.proposed.insert((rule.from, rule.to, rule.actor));
    }

    /// Governance approved the row: it can fire.
    pub fn approve(&mut self, rule: &Rule) {
        self.proposed.remove(&(rule.from, rule.to, rule.actor));
    }

    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub fn run(&self, run: &str) -> Option<&Run> {
        self.runs.get(run)
    }

    pub fn runs(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.runs.iter().map(|(name, run)| (name.as_str(), run))
    }

    pub fn outbox(&self) -> &[Emitted] {
        &self.outbox
    }

    /// The rows that leave this state; `None` asks for the birth rows.
    pub fn rules_from(&self, from: Option<&str>) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.from == from)
    }

    /// The verdict of [`Model::apply`], without doing it.
    pub fn preview(&self, command: &Command) -> Outcome {
        self.judge(false, command)
    }

    pub fn apply(&mut self, command: &Command) -> Outcome {
        let outcome = self.judge(false, command);
        self.record(false, command, &outcome);
        outcome
    }

    pub fn start(&mut self, start: &Start) -> Outcome {
        let command = start.as_command(self.machine.initial);
        let outcome = self.judge(true, &command);
        self.record(true, &command, &outcome);
        outcome
    }

    /// The verdict of [`Model::start`], without doing it.
    pub fn preview_start(&self, start: &Start) -> Outcome {
        self.judge(true, &start.as_command(self.machine.initial))
    }

    fn judge(&self, birth: bool, asked: &Command) -> Outcome {
        let run = self.runs.get(&asked.run);
        // A run carries the name of who started it; without that name there is no run to judge.
        if birth && run.is_none() && !self.principals.contains_key(&asked.principal) {
            return refused(Problem::PrincipalUnknown);
        }
        // A request that could never be repeated is malformed whatever run it names.
        if !is_key(&asked.idempotency_key) {
            return refused(Problem::IdempotencyKeyMissing);
        }
        if run.is_none() && !birth {
            return refused(Problem::RunUnknown);
        }
        if let Some(used) = run.and_then(|run| run.keys.get(&asked.idempotency_key)) {
            return if used.is_for(birth, asked) {
                Outcome::Replayed { seq: used.seq }
            } else {
                refused(Problem::IdempotencyKeyReused)
            };
        }

        let current = run.map(|run| run.state);
        // A birth claims that there is no run yet, so on an existing run the claim is stale.
        let claimed = if birth { None } else { asked.from.or(current) };
        let rule = self.rules.iter().find(|rule| {
            rule.from == claimed && rule.to == asked.to && rule.actor == asked.actor_class
        });
        let problems = self.problems(asked, rule, claimed != current);
        match rule {
            Some(rule) if problems.is_empty() => Outcome::Accepted {
                from: rule.from,
                to: rule.to,
                seq: run.map_or(0, |run| run.seq) + 1,
                event: rule.event,
                transition: rule.label,
            },
            _ => Outcome::Refused(problems),
        }
    }

    /// Everything that is wrong, in the order of [`Problem`].
    fn problems(&self, asked: &Command, rule: Option<&Rule>, stale: bool) -> Vec<Problem> {
        let target = self.machine.state(asked.to);
        let mut problems = Vec::new();
        match rule {
            None if target.is_none() => problems.push(Problem::StateUnknown),
            None => problems.push(Problem::NoMatchingTransition),
            Some(rule) => {
                if rule.trigger != (asked.trigger_kind, asked.trigger_ref) {
                    problems.push(Problem::WrongTrigger);
                }
                let holds = |guard: &&str| asked.guard_truths.get(*guard).copied().unwrap_or(false);
                let refusing = rule.guards.iter().copied().filter(|guard| !holds(guard));
                problems.extend(refusing.map(|guard| Problem::TransitionRefusedByGuard { guard }));
                if rule.audit && !asked.audit_ref {
                    problems.push(Problem::AuditReferenceMissing);
                }
            }
        }
        if stale {
            problems.push(Problem::StaleFromState);
        }
        if let Some(rule) = rule {
            let facets = target.map_or(&[][..], |state| state.facets);
            if !facets.is_empty() && !asked.facet.is_some_and(|facet| facets.contains(&facet)) {
                problems.push(Problem::FacetMissing);
            }
            if self.proposed.contains(&(rule.from, rule.to, rule.actor)) {
                problems.push(Problem::TransitionProposed);
            }
            if rule.event.is_some() && !asked.event_payload_valid {
                problems.push(Problem::EventPayloadInvalid);
            }
        }
        match self.principals.get(&asked.principal) {
            None => problems.push(Problem::PrincipalUnknown),
            Some(principal) => {
                if !principal.active {
                    problems.push(Problem::PrincipalInactive);
                }
                if !principal.classes.contains(asked.actor_class) {
                    problems.push(Problem::ActorClassNotHeld);
                }
            }
        }
        problems
    }

    /// Writes what an accepted request changes. A refusal leaves no trace, not even its key: the
    /// same key may be tried again once the cause is gone.
    fn record(&mut self, birth: bool, asked: &Command, outcome: &Outcome) {
        let &Outcome::Accepted { from, to, seq, event, transition } = outcome else {
            return;
        };
        let has_facets = self.machine.state(to).is_some_and(|state| !state.facets.is_empty());
        let run = self.runs.entry(asked.run.clone()).or_insert_with(|| Run {
            state: to,
            seq: 0,
            facet: None,
            history: Vec::new(),
            keys: BTreeMap::new(),
        });
        run.state = to;
        run.seq = seq;
        run.facet = asked.facet.filter(|_| has_facets);
        run.history.push(Entry { seq, from, to, actor: asked.actor_class, event, transition });
        let used = Used { birth, request: asked.clone(), from, seq };
        run.keys.insert(asked.idempotency_key.clone(), used);
        if let Some(event) = event {
            self.outbox.push(Emitted { run: asked.run.clone(), seq, event });
        }
    }
}

impl Start {
    fn as_command(&self, initial: &'static str) -> Command {
        Command {
            run: self.run.clone(),
            from: None,
            to: initial,
            actor_class: self.actor_class,
            trigger_kind: self.trigger_kind,
            trigger_ref: self.trigger_ref,
            principal: self.principal.clone(),
            idempotency_key: self.idempotency_key.clone(),
            guard_truths: self.guard_truths.clone(),
            audit_ref: self.audit_ref,
            facet: self.facet,
            event_payload_valid: self.event_payload_valid,
        }
    }
}

impl Used {
    /// Whether the request repeats the first one. A repetition may leave `from` open, since the run
    /// has moved on by then; a `from` it does give must be the one that was left.
    fn is_for(&self, birth: bool, asked: &Command) -> bool {
        let same_from = asked.from.is_none() || asked.from == self.from;
        let but_for_from = Command { from: self.request.from, ..asked.clone() };
        self.birth == birth && same_from && but_for_from == self.request
    }
}

/// Blank says nothing, and more than 200 characters is somebody's document.
fn is_key(key: &str) -> bool {
    !key.trim_matches(' ').is_empty() && key.chars().count() <= 200
}

fn refused(problem: Problem) -> Outcome {
    Outcome::Refused(vec![problem])
}
