//! The workflow-run machine: seed C §4.4 and rulings 14 and 15.
//!
//! Only the lifecycle moves by rule; the roll-up colour is computed beside it and is no state.

use crate::rules::{Machine, Rule, State, rules};

pub const MACHINE: Machine = Machine {
    name: "workflow_run",
    initial: "not_started",
    states: &[
        State::open("not_started"),
        State::open("in_progress"),
        State::open("paused"),
        State::terminal("cancelled"),
        State::terminal("completed"),
    ],
    terminal_exits: &[("completed", "W6")],
    rules,
};

fn rules() -> Vec<Rule> {
    rules! {
        "birth" "∅" => "not_started" by "mow_orchestrator" on "rpc" "workflow_create"
            if [] emits "workflow.created" audit no;
        "birth" "∅" => "not_started" by "pic_human" on "rpc" "workflow_create"
            if [] emits "workflow.created" audit no;
        "birth" "∅" => "not_started" by "reviewer" on "rpc" "workflow_create"
            if [] emits "workflow.created" audit no;
        "birth" "∅" => "not_started" by "sovereign" on "rpc" "workflow_create"
            if [] emits "workflow.created" audit no;
        "birth" "∅" => "not_started" by "executor_worker" on "rpc" "workflow_create"
            if [] emits "workflow.created" audit no;
        "W1" "not_started" => "in_progress" by "mow_orchestrator" on "rpc" "workflow_start"
            if [] emits "workflow.started" audit no;
        "W2" "in_progress" => "completed" by "system"
            on "condition_resolved" "all_mandatory_steps_completed"
            if ["G-MANDATORY-DONE"] emits "workflow.completed" audit yes;
        "W3" "not_started" => "cancelled" by "reviewer" on "rpc" "workflow_cancel"
            if ["G-APPROVAL"] emits "workflow.cancelled" audit yes;
        "W3" "in_progress" => "cancelled" by "reviewer" on "rpc" "workflow_cancel"
            if ["G-APPROVAL"] emits "workflow.cancelled" audit yes;
        "W3" "paused" => "cancelled" by "reviewer" on "rpc" "workflow_cancel"
            if ["G-APPROVAL"] emits "workflow.cancelled" audit yes;
        "W4" "in_progress" => "paused" by "reviewer" on "rpc" "workflow_pause"
            if [] emits "workflow.paused" audit yes;
        "W5" "paused" => "in_progress" by "reviewer" on "rpc" "workflow_resume"
            if [] emits "workflow.resumed" audit yes;
        "W6" "completed" => "in_progress" by "system" on "event" "step_reopened"
            if ["G-STEP-REOPENED"] emits "workflow.reopened" audit yes;
    }
}
