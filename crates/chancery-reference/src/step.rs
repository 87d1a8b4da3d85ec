//! The step machine: seed C §4.2, the bridge of C §5.3, and rulings 12, 13, 15 and 28.

use crate::rules::{Machine, Rule, State, rules};

/// Seed C §3.3, in the order of the primary ordinal.
pub const WAITING_FACETS: &[&str] =
    &["waiting_dependency", "waiting_human", "waiting_external", "waiting_time_gate"];

pub const MACHINE: Machine = Machine {
    name: "step",
    initial: "not_started",
    states: &[
        State::open("not_started"),
        State::open("ready"),
        State::open("in_progress"),
        State::faceted("waiting", WAITING_FACETS),
        State::open("blocked"),
        State::open("overdue"),
        State::open("failed"),
        State::open("cannot_complete"),
        State::terminal("completed"),
        State::terminal("cancelled"),
    ],
    terminal_exits: &[("completed", "T8r")],
    rules,
};

fn rules() -> Vec<Rule> {
    rules! {
        "birth" "∅" => "not_started" by "mow_orchestrator" on "condition_resolved" "run_created"
            if [] emits "step.created" audit no;

        "T1" "not_started" => "ready" by "mow_orchestrator"
            on "condition_resolved" "precondition_resolved"
            if ["G-PRECONDITION"] emits "step.ready" audit no;
        "T0s" "not_started" => "not_started" by "mow_orchestrator"
            on "condition_resolved" "branch_not_taken"
            if ["G-NOT-TAKEN"] emits "step.skipped" audit no;

        "T2" "ready" => "in_progress" by "pic_human" on "rpc" "step_claim"
            if ["G-PIC-RESOLVES", "G-EXECUTOR-CLASS"] emits "step.started" audit yes;
        "T2" "ready" => "in_progress" by "executor_worker" on "rpc" "step_claim"
            if ["G-PIC-RESOLVES", "G-EXECUTOR-CLASS"] emits "step.started" audit yes;
        "T2r" "in_progress" => "ready" by "pic_human" on "rpc" "step_release"
            if ["G-CURRENT-PIC"] emits "step.released" audit yes;

        "T3" "in_progress" => "waiting" by "executor_worker" on "rpc" "step_wait"
            if ["G-FACET-VOCAB"] emits "step.waiting" audit no;
        "T3" "in_progress" => "waiting" by "pic_human" on "rpc" "step_wait"
            if ["G-FACET-VOCAB"] emits "step.waiting" audit no;
        "T3r" "waiting" => "in_progress" by "system" on "event" "facet_resolved"
            if ["G-FACET-RESOLVED"] emits "step.resumed" audit no;

        "T4" "in_progress" => "blocked" by "executor_worker" on "rpc" "step_block"
            if ["G-BLOCK-REASON"] emits "step.blocked" audit yes;
        "T4" "in_progress" => "blocked" by "pic_human" on "rpc" "step_block"
            if ["G-BLOCK-REASON"] emits "step.blocked" audit yes;
        "T4r" "blocked" => "in_progress" by "system" on "event" "blocker_resolved"
            if ["G-BLOCK-EVIDENCE"] emits "step.unblocked" audit yes;
        "T4r" "blocked" => "in_progress" by "pic_human" on "event" "blocker_resolved"
            if ["G-BLOCK-EVIDENCE"] emits "step.unblocked" audit yes;

        "T5" "in_progress" => "overdue" by "system" on "timer" "deadline_passed"
            if ["G-DEADLINE-PASSED"] emits "step.overdue" audit no;
        "T6" "overdue" => "in_progress" by "system" on "condition_resolved" "deadline_extended"
            if ["G-DEADLINE-EXTENDED"] emits "step.recovered_from_overdue" audit yes;
        "T6p" "overdue" => "in_progress" by "pic_human" on "rpc" "step_reengage"
            if ["G-CURRENT-PIC"] emits "step.recovered_from_overdue" audit yes;

        "T7" "overdue" => "completed" by "pic_human" on "rpc" "step_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION", "G-LATE-COMPLETION", "G-TASKS-DONE"]
            emits "step.completed" audit yes;
        "T7" "overdue" => "completed" by "executor_worker" on "rpc" "step_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION", "G-LATE-COMPLETION", "G-TASKS-DONE"]
            emits "step.completed" audit yes;
        "T8" "in_progress" => "completed" by "pic_human" on "rpc" "step_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION", "G-TASKS-DONE"]
            emits "step.completed" audit yes;
        "T8" "in_progress" => "completed" by "executor_worker" on "rpc" "step_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION", "G-TASKS-DONE"]
            emits "step.completed" audit yes;
        "T8r" "completed" => "in_progress" by "reviewer" on "rpc" "step_reopen_for_correction"
            if ["G-APPROVAL", "G-CORRECTION-REASON", "G-PRIOR-AUDIT", "G-OUTPUT-SNAPSHOT"]
            emits "step.reopened_for_correction" audit yes;

        "T9" "in_progress" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "step.failed" audit yes;
        "T9" "waiting" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "step.failed" audit yes;
        "T9" "blocked" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "step.failed" audit yes;
        "T9o" "overdue" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "step.failed" audit yes;
        "T10" "failed" => "in_progress" by "executor_worker" on "event" "retry_attempt"
            if ["G-RETRY-BUDGET", "G-RETRY-KEY"] emits "step.retry" audit no;
        "T11" "failed" => "cannot_complete" by "escalation_handler" on "rpc" "escalate"
            if ["G-ESCALATABLE"] emits "step.escalated" audit yes;

        "T12" "in_progress" => "cannot_complete" by "pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "step.cannot_complete" audit yes;
        "T12" "in_progress" => "cannot_complete" by "executor_worker"
            on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "step.cannot_complete" audit yes;
        "T12" "blocked" => "cannot_complete" by "pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "step.cannot_complete" audit yes;
        "T12" "blocked" => "cannot_complete" by "executor_worker" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "step.cannot_complete" audit yes;
        "T12" "waiting" => "cannot_complete" by "pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "step.cannot_complete" audit yes;
        "T12" "waiting" => "cannot_complete" by "executor_worker" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "step.cannot_complete" audit yes;
        "T12r" "cannot_complete" => "in_progress" by "reviewer"
            on "rpc" "step_reopen_for_correction"
            if ["G-APPROVAL", "G-CORRECTION-REASON", "G-PRIOR-AUDIT"]
            emits "step.reopened_for_correction" audit yes;

        "T13" "not_started" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "ready" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "in_progress" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "waiting" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "blocked" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "overdue" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "failed" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;
        "T13" "cannot_complete" => "cancelled" by "reviewer" on "rpc" "step_cancel"
            if ["G-APPROVAL"] emits "step.cancelled" audit yes;

        "B0" "ready" => "in_progress" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.started" audit yes;
        "B1" "in_progress" => "failed" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.failed" audit yes;
        "B2" "in_progress" => "waiting" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.waiting" audit no;
        "B3" "waiting" => "in_progress" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.resumed" audit no;
        "B4" "in_progress" => "completed" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.completed" audit yes;
        "B5" "failed" => "in_progress" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.retry" audit no;
        "B6" "waiting" => "failed" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.failed" audit yes;
        "B7" "waiting" => "completed" by "mow_orchestrator" on "event" "sub_workflow_rollup"
            if ["G-BRIDGE"] emits "step.completed" audit yes;
    }
}
