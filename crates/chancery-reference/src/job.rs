//! The job: rulings 16 and 23, COMPANIONS §7.5.
//!
//! Claims and results are made in sets and leave no event each; a job's death and what a person does to it do.

use crate::rules::{Machine, Rule, State, each};

pub const MACHINE: Machine = Machine {
    name: "job",
    initial: "queued",
    states: &[
        State::open("queued"),
        State::open("leased"),
        State::open("in_progress"),
        State::terminal("succeeded"),
        State::open("failed"),
        State::open("retry_waiting"),
        State::open("dead_letter"),
        State::terminal("cancelled"),
        State::terminal("cleaned"),
    ],
    terminal_exits: &[],
    rules,
};

const HELD: &[&str] = &["leased", "in_progress"];
const WORKER: &[&str] = &["executor_worker"];
const SYSTEM: &[&str] = &["system"];

fn rules() -> Vec<Rule> {
    let ack = ("rpc", "job_ack");
    let lease_over = ("timer", "job_lease");
    let parts = [
        each(
            &["∅"],
            &["system", "executor_worker", "mow_orchestrator", "pic_human", "escalation_handler"],
            ("birth", "queued", ("rpc", "job_enqueue"), &[], None),
        ),
        each(
            &["queued", "retry_waiting"],
            WORKER,
            ("claim", "leased", ("rpc", "job_claim"), &[], None),
        ),
        each(&["leased"], WORKER, ("extend", "in_progress", ("rpc", "job_extend"), &[], None)),
        each(HELD, WORKER, ("release", "queued", ("rpc", "job_release"), &[], None)),
        each(HELD, WORKER, ("succeed", "succeeded", ack, &[], None)),
        each(HELD, WORKER, ("retry", "retry_waiting", ack, &[], None)),
        each(HELD, SYSTEM, ("expire", "retry_waiting", lease_over, &[], None)),
        each(HELD, WORKER, ("fail", "failed", ack, &[], None)),
        each(HELD, SYSTEM, ("give_up", "failed", lease_over, &[], None)),
        each(
            &["failed"],
            SYSTEM,
            (
                "die",
                "dead_letter",
                ("event", "job_failed"),
                &["G-DEATH-REASON"],
                Some("job.dead_lettered"),
            ),
        ),
        each(
            &["queued", "retry_waiting", "leased", "in_progress"],
            &["pic_human", "reviewer", "sovereign", "escalation_handler"],
            (
                "cancel",
                "cancelled",
                ("rpc", "job_cancel"),
                &["G-CANCEL-REASON"],
                Some("job.cancelled"),
            ),
        ),
        each(
            &["dead_letter"],
            SYSTEM,
            (
                "settle",
                "cleaned",
                ("event", "replay_succeeded"),
                &[],
                Some("job.dead_letter_resolved"),
            ),
        ),
        each(
            &["dead_letter"],
            &["reviewer", "sovereign"],
            (
                "dismiss",
                "cleaned",
                ("rpc", "job_dismiss"),
                &["G-DISMISS-REASON"],
                Some("job.dead_letter_resolved"),
            ),
        ),
    ];
    parts.concat()
}
