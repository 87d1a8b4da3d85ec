//! The shape of a transition table and the notation the tables are written in.

use serde::Serialize;

/// The closed vocabulary of actor classes.
pub const ACTOR_CLASSES: [&str; 12] = [
    "system",
    "pic_human",
    "task_pic_human",
    "reviewer",
    "executor_worker",
    "mow_orchestrator",
    "escalation_handler",
    "sovereign",
    "review_authority",
    "executor_dot991",
    "verifier_dot992",
    "observer",
];

/// The closed vocabulary of trigger kinds.
pub const TRIGGER_KINDS: [&str; 4] = ["event", "rpc", "timer", "condition_resolved"];

/// One stored row: at most one a (from, to, actor) of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Several rows share a label when the seed writes "in_progress or waiting" in one line.
    pub label: &'static str,
    /// `None` is the birth of a run (∅).
    pub from: Option<&'static str>,
    pub to: &'static str,
    pub actor: &'static str,
    /// Kind and reference.
    pub trigger: (&'static str, &'static str),
    pub guards: &'static [&'static str],
    pub event: Option<&'static str>,
    pub audit: bool,
}

/// A state of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct State {
    pub code: &'static str,
    pub terminal: bool,
    /// Passed inside a transaction and never stored, so no rule leads to it or away from it.
    pub conceptual: bool,
    /// A state with facets can be entered only with one of them.
    pub facets: &'static [&'static str],
}

impl State {
    pub(super) const fn open(code: &'static str) -> Self {
        Self { code, terminal: false, conceptual: false, facets: &[] }
    }

    pub(super) const fn terminal(code: &'static str) -> Self {
        Self { code, terminal: true, conceptual: false, facets: &[] }
    }

    pub(super) const fn conceptual(code: &'static str) -> Self {
        Self { code, terminal: false, conceptual: true, facets: &[] }
    }

    pub(super) const fn faceted(code: &'static str, facets: &'static [&'static str]) -> Self {
        Self { code, terminal: false, conceptual: false, facets }
    }
}

/// A machine: its states in the order of the seed, and its rows.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    pub name: &'static str,
    pub initial: &'static str,
    pub states: &'static [State],
    /// The declared ways out of terminal states, as (from, label): everything else stays closed.
    pub terminal_exits: &'static [(&'static str, &'static str)],
    pub rules: fn() -> Vec<Rule>,
}

impl Machine {
    pub fn state(&self, code: &str) -> Option<&'static State> {
        self.states.iter().find(|state| state.code == code)
    }
}

/// The sign of birth in the `from` column of the seeds.
pub(super) fn origin(from: &'static str) -> Option<&'static str> {
    (from != "∅").then_some(from)
}

/// What several rows of a table share: label, to, trigger, guards, event.
pub(super) type Shared = (
    &'static str,
    &'static str,
    (&'static str, &'static str),
    &'static [&'static str],
    Option<&'static str>,
);

/// The same row for each origin and each actor, where a source says "any of these"; none of them is audited.
pub(super) fn each(
    froms: &[&'static str],
    actors: &[&'static str],
    (label, to, trigger, guards, event): Shared,
) -> Vec<Rule> {
    let row = |from, actor| Rule {
        label,
        from: origin(from),
        to,
        actor,
        trigger,
        guards,
        event,
        audit: false,
    };
    froms.iter().flat_map(|&from| actors.iter().map(move |&actor| row(from, actor))).collect()
}

/// Writes a table in the column order of seed C §4.2: number, from, to, actor, trigger, guards,
/// event, audit.
macro_rules! rules {
    (@audit yes) => { true };
    (@audit no) => { false };
    ($(
        $label:literal $from:literal => $to:literal
        by $actor:literal on $kind:literal $reference:literal
        if [$($guard:literal),*] emits $event:literal audit $audit:ident;
    )*) => {
        vec![$($crate::rules::Rule {
            label: $label,
            from: $crate::rules::origin($from),
            to: $to,
            actor: $actor,
            trigger: ($kind, $reference),
            guards: &[$($guard),*],
            event: Some($event),
            audit: rules!(@audit $audit),
        }),*]
    };
}
pub(super) use rules;
