//! The candidate of governance: seed E §1 and §2, COMPANIONS §11.6.
//!
//! The tail of births receives each object once; announcing it is a move of its own, which may have to wait.

use crate::rules::{Machine, Rule, State, each};

pub const MACHINE: Machine = Machine {
    name: "governance_candidate",
    initial: "received",
    states: &[State::open("received"), State::terminal("announced")],
    terminal_exits: &[],
    rules,
};

fn rules() -> Vec<Rule> {
    let received =
        each(&["∅"], &["system"], ("receive", "received", ("event", "object_born"), &[], None));
    let announced = each(
        &["received"],
        &["system"],
        (
            "announce",
            "announced",
            ("event", "handoff"),
            &["G-NAMES-BIRTH"],
            Some("handoff.object_born"),
        ),
    );
    [received, announced].concat()
}
