//! The task machine: the step's floor with the specialisations of seed C §4.3.
//!
//! The task's own PIC acts as `task_pic_human`; the step's PIC keeps what concerns the step as a
//! whole (T3, T4, T4r, T12). An automated task is claimed without a PIC (T2x). Tasks contain no
//! tasks and no sub-workflows, so neither G-TASKS-DONE nor the bridge rows exist here.

use crate::rules::{Machine, Rule, State, rules};
use crate::step::WAITING_FACETS;

pub const MACHINE: Machine = Machine {
    name: "task",
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
            if [] emits "task.created" audit no;
        "birth" "∅" => "not_started" by "executor_worker" on "condition_resolved" "run_created"
            if [] emits "task.created" audit no;

        "T1" "not_started" => "ready" by "mow_orchestrator"
            on "condition_resolved" "precondition_resolved"
            if ["G-PRECONDITION"] emits "task.ready" audit no;
        "T0s" "not_started" => "not_started" by "mow_orchestrator"
            on "condition_resolved" "branch_not_taken"
            if ["G-NOT-TAKEN"] emits "task.skipped" audit no;

        "T2" "ready" => "in_progress" by "task_pic_human" on "rpc" "task_claim"
            if ["G-PIC-RESOLVES", "G-EXECUTOR-CLASS"] emits "task.started" audit yes;
        "T2x" "ready" => "in_progress" by "executor_worker" on "rpc" "task_claim"
            if ["G-EXECUTOR-CLASS"] emits "task.started" audit yes;
        "T2r" "in_progress" => "ready" by "task_pic_human" on "rpc" "task_release"
            if ["G-CURRENT-PIC"] emits "task.released" audit yes;

        "T3" "in_progress" => "waiting" by "executor_worker" on "rpc" "task_wait"
            if ["G-FACET-VOCAB"] emits "task.waiting" audit no;
        "T3" "in_progress" => "waiting" by "task_pic_human" on "rpc" "task_wait"
            if ["G-FACET-VOCAB"] emits "task.waiting" audit no;
        "T3" "in_progress" => "waiting" by "pic_human" on "rpc" "task_wait"
            if ["G-FACET-VOCAB"] emits "task.waiting" audit no;
        "T3r" "waiting" => "in_progress" by "system" on "event" "facet_resolved"
            if ["G-FACET-RESOLVED"] emits "task.resumed" audit no;

        "T4" "in_progress" => "blocked" by "executor_worker" on "rpc" "task_block"
            if ["G-BLOCK-REASON"] emits "task.blocked" audit yes;
        "T4" "in_progress" => "blocked" by "task_pic_human" on "rpc" "task_block"
            if ["G-BLOCK-REASON"] emits "task.blocked" audit yes;
        "T4" "in_progress" => "blocked" by "pic_human" on "rpc" "task_block"
            if ["G-BLOCK-REASON"] emits "task.blocked" audit yes;
        "T4r" "blocked" => "in_progress" by "system" on "event" "blocker_resolved"
            if ["G-BLOCK-EVIDENCE"] emits "task.unblocked" audit yes;
        "T4r" "blocked" => "in_progress" by "task_pic_human" on "event" "blocker_resolved"
            if ["G-BLOCK-EVIDENCE"] emits "task.unblocked" audit yes;
        "T4r" "blocked" => "in_progress" by "pic_human" on "event" "blocker_resolved"
            if ["G-BLOCK-EVIDENCE"] emits "task.unblocked" audit yes;

        "T5" "in_progress" => "overdue" by "system" on "timer" "deadline_passed"
            if ["G-DEADLINE-PASSED"] emits "task.overdue" audit no;
        "T6" "overdue" => "in_progress" by "system" on "condition_resolved" "deadline_extended"
            if ["G-DEADLINE-EXTENDED"] emits "task.recovered_from_overdue" audit yes;
        "T6p" "overdue" => "in_progress" by "task_pic_human" on "rpc" "task_reengage"
            if ["G-CURRENT-PIC"] emits "task.recovered_from_overdue" audit yes;

        "T7" "overdue" => "completed" by "task_pic_human" on "rpc" "task_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION", "G-LATE-COMPLETION"] emits "task.completed" audit yes;
        "T7" "overdue" => "completed" by "executor_worker" on "rpc" "task_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION", "G-LATE-COMPLETION"] emits "task.completed" audit yes;
        "T8" "in_progress" => "completed" by "task_pic_human" on "rpc" "task_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION"] emits "task.completed" audit yes;
        "T8" "in_progress" => "completed" by "executor_worker" on "rpc" "task_complete"
            if ["G-OUTPUT-CONTRACT", "G-POSTCONDITION"] emits "task.completed" audit yes;
        "T8r" "completed" => "in_progress" by "reviewer" on "rpc" "task_reopen_for_correction"
            if ["G-APPROVAL", "G-CORRECTION-REASON", "G-PRIOR-AUDIT", "G-OUTPUT-SNAPSHOT"]
            emits "task.reopened_for_correction" audit yes;

        "T9" "in_progress" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "task.failed" audit yes;
        "T9" "waiting" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "task.failed" audit yes;
        "T9" "blocked" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "task.failed" audit yes;
        "T9o" "overdue" => "failed" by "executor_worker" on "event" "executor_failure"
            if ["G-FAILURE-CLASS"] emits "task.failed" audit yes;
        "T10" "failed" => "in_progress" by "executor_worker" on "event" "retry_attempt"
            if ["G-RETRY-BUDGET", "G-RETRY-KEY"] emits "task.retry" audit no;
        "T11" "failed" => "cannot_complete" by "escalation_handler" on "rpc" "escalate"
            if ["G-ESCALATABLE"] emits "task.escalated" audit yes;

        "T12" "in_progress" => "cannot_complete" by "task_pic_human"
            on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "in_progress" => "cannot_complete" by "pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "in_progress" => "cannot_complete" by "executor_worker"
            on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "blocked" => "cannot_complete" by "task_pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "blocked" => "cannot_complete" by "pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "blocked" => "cannot_complete" by "executor_worker" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "waiting" => "cannot_complete" by "task_pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "waiting" => "cannot_complete" by "pic_human" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12" "waiting" => "cannot_complete" by "executor_worker" on "rpc" "declare_cannot_complete"
            if ["G-DECLARATION"] emits "task.cannot_complete" audit yes;
        "T12r" "cannot_complete" => "in_progress" by "reviewer"
            on "rpc" "task_reopen_for_correction"
            if ["G-APPROVAL", "G-CORRECTION-REASON", "G-PRIOR-AUDIT"]
            emits "task.reopened_for_correction" audit yes;

        "T13" "not_started" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "ready" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "in_progress" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "waiting" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "blocked" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "overdue" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "failed" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
        "T13" "cannot_complete" => "cancelled" by "reviewer" on "rpc" "task_cancel"
            if ["G-APPROVAL"] emits "task.cancelled" audit yes;
    }
}
