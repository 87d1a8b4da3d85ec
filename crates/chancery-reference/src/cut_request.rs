//! The cutter: seed A §1–§4 with the guards of seed B, and rulings 2, 3 and 4.
//!
//! S2→S5→S6 and S6→S7→S8/S9 are one row each: S5 and S7 are passed inside the transaction (A §7,
//! OD-SM-2). The seed's S9→S1 is the lifecycle of another entry and therefore no row.

use crate::rules::{Machine, Rule, State, rules};

pub const MACHINE: Machine = Machine {
    name: "cut_request",
    initial: "marked",
    states: &[
        State::open("marked"),                      // S0
        State::open("review_pending"),              // S1
        State::open("reviewed_approved"),           // S2
        State::open("reviewed_deferred"),           // S3
        State::terminal("reviewed_rejected"),       // S4
        State::conceptual("cut_in_progress"),       // S5
        State::open("cut_applied"),                 // S6
        State::conceptual("verify_in_progress"),    // S7
        State::terminal("verified_complete"),       // S8
        State::terminal("verify_failed_escalated"), // S9
        State::terminal("abandoned"),               // S10
    ],
    terminal_exits: &[
        ("reviewed_rejected", "abandon"),
        ("verified_complete", "abandon"),
        ("verify_failed_escalated", "abandon"),
    ],
    rules,
};

fn rules() -> Vec<Rule> {
    rules! {
        "mark" "∅" => "marked" by "executor_dot991" on "rpc" "mark"
            if ["G-MARK-IDEM"] emits "cut.marked" audit no;
        "mark" "∅" => "marked" by "pic_human" on "rpc" "mark"
            if ["G-MARK-IDEM"] emits "cut.marked" audit no;
        "mark" "∅" => "marked" by "executor_worker" on "rpc" "mark"
            if ["G-MARK-IDEM"] emits "cut.marked" audit no;

        "escalate" "∅" => "marked" by "verifier_dot992" on "rpc" "escalate"
            if ["G-MARK-IDEM", "G-ESCALATES-FAILURE"] emits "cut.marked" audit no;

        "promote" "marked" => "review_pending" by "executor_dot991" on "rpc" "sweep"
            if [] emits "cut.review_pending" audit no;
        "promote" "marked" => "review_pending" by "system" on "rpc" "sweep"
            if [] emits "cut.review_pending" audit no;
        "repromote" "reviewed_deferred" => "review_pending" by "executor_dot991" on "rpc" "sweep"
            if [] emits "cut.review_pending" audit no;
        "repromote" "reviewed_deferred" => "review_pending" by "system" on "rpc" "sweep"
            if [] emits "cut.review_pending" audit no;

        "approve" "review_pending" => "reviewed_approved" by "review_authority" on "rpc" "review"
            if ["G-REVIEW-MANIFEST", "G-REVIEW-AUTH"] emits "cut.approved" audit no;
        "defer" "review_pending" => "reviewed_deferred" by "review_authority" on "rpc" "review"
            if ["G-REVIEW-MANIFEST", "G-REVIEW-AUTH"] emits "cut.deferred" audit no;
        "reject" "review_pending" => "reviewed_rejected" by "review_authority" on "rpc" "review"
            if ["G-REVIEW-MANIFEST", "G-REVIEW-AUTH"] emits "cut.rejected" audit no;
        "redefer" "reviewed_approved" => "reviewed_deferred" by "review_authority" on "rpc" "review"
            if ["G-REVIEW-MANIFEST", "G-REVIEW-AUTH"] emits "cut.deferred" audit no;

        "cut" "reviewed_approved" => "cut_applied" by "executor_dot991" on "rpc" "cut"
            if ["G-CUT-APPROVED", "G-CUT-DEPS", "G-CUT-ONCE"] emits "cut.applied" audit no;
        "verify_pass" "cut_applied" => "verified_complete" by "verifier_dot992" on "rpc" "verify"
            if ["G-VERIFY-CUT", "G-VERIFY-SOD"] emits "cut.verified" audit no;
        "verify_fail" "cut_applied" => "verify_failed_escalated" by "verifier_dot992"
            on "rpc" "verify"
            if ["G-VERIFY-CUT", "G-VERIFY-SOD"] emits "cut.verify_failed" audit no;

        "abandon" "marked" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "review_pending" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "reviewed_approved" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "reviewed_deferred" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "reviewed_rejected" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "cut_applied" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "verified_complete" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
        "abandon" "verify_failed_escalated" => "abandoned" by "sovereign" on "rpc" "abandon"
            if ["G-ABANDON-REASON"] emits "cut.abandoned" audit yes;
    }
}
