//! The replay of a dead letter: seed C §7.4, ruling 23, SPEC EVT-4.

use crate::rules::{Machine, Rule, State, rules};

pub const MACHINE: Machine = Machine {
    name: "dlq_replay",
    initial: "submitted",
    states: &[
        State::open("submitted"),
        State::open("scheduled"),
        State::terminal("completed"),
        State::terminal("withdrawn"),
    ],
    terminal_exits: &[],
    rules,
};

fn rules() -> Vec<Rule> {
    rules! {
        "birth" "∅" => "submitted" by "pic_human" on "rpc" "dlq_replay_propose"
            if [] emits "dlq_replay.submitted" audit no;
        "birth" "∅" => "submitted" by "reviewer" on "rpc" "dlq_replay_propose"
            if [] emits "dlq_replay.submitted" audit no;
        "birth" "∅" => "submitted" by "sovereign" on "rpc" "dlq_replay_propose"
            if [] emits "dlq_replay.submitted" audit no;
        "birth" "∅" => "submitted" by "escalation_handler" on "rpc" "dlq_replay_propose"
            if [] emits "dlq_replay.submitted" audit no;
        "birth" "∅" => "submitted" by "executor_worker" on "rpc" "dlq_replay_propose"
            if [] emits "dlq_replay.submitted" audit no;

        "schedule" "submitted" => "scheduled" by "system" on "rpc" "dlq_replay"
            if ["G-REPLAY-APPROVED"] emits "dlq_replay.scheduled" audit no;

        "withdraw" "submitted" => "withdrawn" by "pic_human" on "rpc" "dlq_replay_withdraw"
            if ["G-WITHDRAW-REASON"] emits "dlq_replay.withdrawn" audit no;
        "withdraw" "submitted" => "withdrawn" by "reviewer" on "rpc" "dlq_replay_withdraw"
            if ["G-WITHDRAW-REASON"] emits "dlq_replay.withdrawn" audit no;
        "withdraw" "submitted" => "withdrawn" by "sovereign" on "rpc" "dlq_replay_withdraw"
            if ["G-WITHDRAW-REASON"] emits "dlq_replay.withdrawn" audit no;
        "withdraw" "submitted" => "withdrawn" by "escalation_handler" on "rpc" "dlq_replay_withdraw"
            if ["G-WITHDRAW-REASON"] emits "dlq_replay.withdrawn" audit no;

        "complete" "scheduled" => "completed" by "system" on "event" "job_ended"
            if ["G-REPLAY-OUTCOME"] emits "dlq_replay.completed" audit no;
    }
}
