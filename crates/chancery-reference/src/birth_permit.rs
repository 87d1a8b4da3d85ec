//! The birth permit: seed E §1–§2 and ruling 17.
//!
//! REQUESTED, VALIDATED, HANDOFF_ENQ and DONE belong to the admission run, not to the permit row.

use crate::rules::{Machine, Rule, State, rules};

pub const MACHINE: Machine = Machine {
    name: "birth_permit",
    initial: "RESERVED",
    states: &[
        State::open("RESERVED"),
        State::open("CONSUMED"),
        State::terminal("FINALIZED"),
        State::terminal("FAILED"),
        State::terminal("EXPIRED"),
        State::terminal("REVOKED"),
    ],
    terminal_exits: &[],
    rules,
};

fn rules() -> Vec<Rule> {
    rules! {
        "birth" "∅" => "RESERVED" by "executor_worker" on "rpc" "permit_request"
            if [] emits "permit.reserved" audit no;
        "birth" "∅" => "RESERVED" by "pic_human" on "rpc" "permit_request"
            if [] emits "permit.reserved" audit no;
        "birth" "∅" => "RESERVED" by "system" on "rpc" "permit_request"
            if [] emits "permit.reserved" audit no;
        "birth" "∅" => "RESERVED" by "executor_dot991" on "rpc" "permit_request"
            if [] emits "permit.reserved" audit no;

        "consume" "RESERVED" => "CONSUMED" by "system" on "event" "permit_insert"
            if ["G-PERMIT-LIVE"] emits "permit.consumed" audit no;
        "finalize" "CONSUMED" => "FINALIZED" by "system" on "event" "permit_commit"
            if ["G-BORN-ROW"] emits "permit.finalized" audit no;

        "fail" "RESERVED" => "FAILED" by "system" on "event" "permit_failure"
            if ["G-FAILURE-REASON"] emits "permit.failed" audit no;
        "fail" "CONSUMED" => "FAILED" by "system" on "event" "permit_failure"
            if ["G-FAILURE-REASON"] emits "permit.failed" audit no;
        "expire" "RESERVED" => "EXPIRED" by "system" on "timer" "permit_ttl"
            if ["G-TTL-ELAPSED"] emits "permit.expired" audit no;
        "revoke" "RESERVED" => "REVOKED" by "reviewer" on "rpc" "permit_revoke"
            if ["G-REVOKE-REASON"] emits "permit.revoked" audit yes;
        "revoke" "RESERVED" => "REVOKED" by "sovereign" on "rpc" "permit_revoke"
            if ["G-REVOKE-REASON"] emits "permit.revoked" audit yes;
    }
}
