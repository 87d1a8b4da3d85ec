//! The proposal machine: the states of seed C §6.5 in the order of SPEC UIW-7.
//!
//! The seed names the states and has no table of rows. These rows follow the machine file, so they hold the engine to that file and
//! are no second reading of a source.
//!
//! The votes decide and the database counts them, so nobody but `system` enters or leaves the review.

use crate::rules::{Machine, Rule, State, rules};

pub const MACHINE: Machine = Machine {
    name: "proposal",
    initial: "draft",
    states: &[
        State::open("draft"),
        State::open("submitted"),
        State::open("review"),
        State::open("approved"),
        State::terminal("rejected"),
        State::terminal("merged"),
        State::terminal("withdrawn"),
    ],
    terminal_exits: &[],
    rules,
};

fn rules() -> Vec<Rule> {
    rules! {
        "birth" "∅" => "draft" by "pic_human" on "rpc" "propose"
            if [] emits "proposal.created" audit no;
        "birth" "∅" => "draft" by "reviewer" on "rpc" "propose"
            if [] emits "proposal.created" audit no;
        "birth" "∅" => "draft" by "sovereign" on "rpc" "propose"
            if [] emits "proposal.created" audit no;
        "birth" "∅" => "draft" by "executor_worker" on "rpc" "propose"
            if [] emits "proposal.created" audit no;
        "birth" "∅" => "draft" by "mow_orchestrator" on "rpc" "propose"
            if [] emits "proposal.created" audit no;

        "submit" "draft" => "submitted" by "pic_human" on "rpc" "submit"
            if ["G-PROPOSER", "G-DIGEST-PINNED"] emits "proposal.submitted" audit no;
        "submit" "draft" => "submitted" by "reviewer" on "rpc" "submit"
            if ["G-PROPOSER", "G-DIGEST-PINNED"] emits "proposal.submitted" audit no;
        "submit" "draft" => "submitted" by "sovereign" on "rpc" "submit"
            if ["G-PROPOSER", "G-DIGEST-PINNED"] emits "proposal.submitted" audit no;
        "submit" "draft" => "submitted" by "executor_worker" on "rpc" "submit"
            if ["G-PROPOSER", "G-DIGEST-PINNED"] emits "proposal.submitted" audit no;
        "submit" "draft" => "submitted" by "mow_orchestrator" on "rpc" "submit"
            if ["G-PROPOSER", "G-DIGEST-PINNED"] emits "proposal.submitted" audit no;
        "withdraw" "submitted" => "draft" by "pic_human" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "withdraw" "submitted" => "draft" by "reviewer" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "withdraw" "submitted" => "draft" by "sovereign" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "withdraw" "submitted" => "draft" by "executor_worker" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "withdraw" "submitted" => "draft" by "mow_orchestrator" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "discard" "draft" => "withdrawn" by "pic_human" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "discard" "draft" => "withdrawn" by "reviewer" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "discard" "draft" => "withdrawn" by "sovereign" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "discard" "draft" => "withdrawn" by "executor_worker" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;
        "discard" "draft" => "withdrawn" by "mow_orchestrator" on "rpc" "withdraw"
            if ["G-PROPOSER"] emits "proposal.withdrawn" audit no;

        "open" "submitted" => "review" by "system" on "event" "approval_requested"
            if ["G-REVIEW-OPEN"] emits "proposal.in_review" audit no;
        "approve" "review" => "approved" by "system" on "event" "approval_decided"
            if ["G-REVIEW-APPROVED"] emits "proposal.approved" audit no;
        "reject" "review" => "rejected" by "system" on "event" "approval_decided"
            if ["G-REVIEW-REJECTED"] emits "proposal.rejected" audit no;
        "return" "review" => "draft" by "system" on "timer" "approval_expired"
            if ["G-REVIEW-EXPIRED"] emits "proposal.returned" audit no;
        "return" "approved" => "draft" by "system" on "timer" "approval_expired"
            if ["G-REVIEW-EXPIRED"] emits "proposal.returned" audit no;

        "merge" "approved" => "merged" by "pic_human" on "rpc" "merge"
            if ["G-MERGE"] emits "proposal.merged" audit yes;
        "merge" "approved" => "merged" by "reviewer" on "rpc" "merge"
            if ["G-MERGE"] emits "proposal.merged" audit yes;
        "merge" "approved" => "merged" by "sovereign" on "rpc" "merge"
            if ["G-MERGE"] emits "proposal.merged" audit yes;
        "merge" "approved" => "merged" by "mow_orchestrator" on "rpc" "merge"
            if ["G-MERGE"] emits "proposal.merged" audit yes;
    }
}
