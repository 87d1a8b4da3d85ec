//! The finding: seed C §7.3 rule 2, §7.5 and §7.6, COMPANIONS §7.8.
//!
//! It is open until it is closed in one of three ways, each with an event of its own name; people acknowledge and resolve,
//! measurements recover and heal.

use crate::rules::{Machine, Rule, State, each};

pub const MACHINE: Machine = Machine {
    name: "finding",
    initial: "open",
    states: &[
        State::open("open"),
        State::open("acknowledged"),
        State::terminal("resolved"),
        State::terminal("recovered"),
        State::terminal("healed"),
    ],
    terminal_exits: &[],
    rules,
};

const PEOPLE: &[&str] = &["pic_human", "reviewer", "sovereign", "escalation_handler"];
const WORKERS: &[&str] =
    &["system", "mow_orchestrator", "executor_worker", "executor_dot991", "verifier_dot992"];
const UNCLOSED: &[&str] = &["open", "acknowledged"];

fn rules() -> Vec<Rule> {
    let births = each(
        &["∅"],
        &[
            "system",
            "mow_orchestrator",
            "executor_worker",
            "executor_dot991",
            "verifier_dot992",
            "review_authority",
        ],
        ("birth", "open", ("rpc", "log_issue"), &[], Some("finding.opened")),
    );
    let taken = each(
        &["open"],
        PEOPLE,
        (
            "acknowledge",
            "acknowledged",
            ("rpc", "issue_acknowledge"),
            &[],
            Some("finding.acknowledged"),
        ),
    );
    let resolved = each(
        UNCLOSED,
        PEOPLE,
        (
            "resolve",
            "resolved",
            ("rpc", "issue_resolve"),
            &["G-RESOLVE-REASON"],
            Some("finding.resolved"),
        ),
    );
    let settled = each(
        UNCLOSED,
        WORKERS,
        (
            "settle",
            "resolved",
            ("condition_resolved", "cause_gone"),
            &["G-CAUSE-GONE"],
            Some("finding.resolved"),
        ),
    );
    let recovered = each(
        UNCLOSED,
        WORKERS,
        (
            "recover",
            "recovered",
            ("condition_resolved", "ticked_again"),
            &["G-TICKED"],
            Some("finding.recovered"),
        ),
    );
    let healed = each(
        UNCLOSED,
        &["system"],
        (
            "heal",
            "healed",
            ("condition_resolved", "back_under_threshold"),
            &["G-MEASURED"],
            Some("finding.healed"),
        ),
    );
    [births, taken, resolved, settled, recovered, healed].concat()
}
