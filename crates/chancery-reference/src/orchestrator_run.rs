//! The orchestrator: seed D §1–§3 and §6–§7, and ruling 6.
//!
//! The main line and its failures are written out. Stops, resumes and voids are the seed's
//! `<any-state>` rows and are multiplied out by loops.

use crate::rules::{Machine, Rule, State, rules};

pub const MACHINE: Machine = Machine {
    name: "orchestrator_run",
    initial: "pending",
    states: &[
        State::open("pending"),
        State::open("source_pinned"),
        State::open("marked"),
        State::open("cutplan_ok"),
        State::open("pre_write_backup_taken"),
        State::open("grants_probed"),
        State::open("awaiting_cut_authorization"),
        State::open("cut_leg_a_committed"),
        State::open("structural_verified"),
        State::open("leg_b_recorded"),
        State::open("write_verified"),
        State::open("awaiting_lifecycle_authorization"),
        State::open("lifecycle_enacted"),
        State::terminal("closeout_reported"),
        State::terminal("failed_source_pin"),
        State::terminal("failed_mark"),
        State::terminal("failed_cutplan"),
        State::terminal("failed_backup"),
        State::terminal("failed_grant_probe"),
        State::terminal("failed_cut_leg_a"),
        State::terminal("failed_structural_verify"),
        State::terminal("failed_leg_b_record"),
        State::terminal("failed_write_verify"),
        State::terminal("failed_lifecycle_enact"),
        State::terminal("failed_closeout"),
        State::open("stopped_sovereign"),
        State::open("stopped_drift"),
        State::open("stopped_over_cap"),
        State::open("stopped_exception"),
        State::terminal("voided_sovereign"),
    ],
    // D §7: after a terminal failure the operator must void.
    terminal_exits: &[
        ("failed_source_pin", "void"),
        ("failed_mark", "void"),
        ("failed_cutplan", "void"),
        ("failed_backup", "void"),
        ("failed_grant_probe", "void"),
        ("failed_cut_leg_a", "void"),
        ("failed_structural_verify", "void"),
        ("failed_leg_b_record", "void"),
        ("failed_write_verify", "void"),
        ("failed_lifecycle_enact", "void"),
        ("failed_closeout", "void"),
    ],
    rules,
};

/// The main line without its end: the states a run can be stopped in and resumed to.
const UNDER_WAY: [&str; 13] = [
    "pending",
    "source_pinned",
    "marked",
    "cutplan_ok",
    "pre_write_backup_taken",
    "grants_probed",
    "awaiting_cut_authorization",
    "cut_leg_a_committed",
    "structural_verified",
    "leg_b_recorded",
    "write_verified",
    "awaiting_lifecycle_authorization",
    "lifecycle_enacted",
];

const FAILED: [&str; 11] = [
    "failed_source_pin",
    "failed_mark",
    "failed_cutplan",
    "failed_backup",
    "failed_grant_probe",
    "failed_cut_leg_a",
    "failed_structural_verify",
    "failed_leg_b_record",
    "failed_write_verify",
    "failed_lifecycle_enact",
    "failed_closeout",
];

const STOPPED: [&str; 4] =
    ["stopped_sovereign", "stopped_drift", "stopped_over_cap", "stopped_exception"];

fn rules() -> Vec<Rule> {
    let mut rules = main_line();
    rules.extend(failures());
    rules.extend(stops());
    rules.extend(resumes());
    rules.extend(voids());
    rules
}

fn main_line() -> Vec<Rule> {
    rules! {
        "birth" "∅" => "pending" by "executor_dot991" on "rpc" "orchestrate_start"
            if [] emits "orchestrator.started" audit no;

        "IG_source_pin" "pending" => "source_pinned"
            by "executor_dot991" on "condition_resolved" "IG_source_pin"
            if ["IG_source_pin"] emits "orchestrator.source_pinned" audit no;
        "IG_mark" "source_pinned" => "marked"
            by "executor_dot991" on "condition_resolved" "IG_mark"
            if ["IG_mark"] emits "orchestrator.marked" audit no;
        "IG_cutplan" "marked" => "cutplan_ok"
            by "executor_dot991" on "condition_resolved" "IG_cutplan"
            if ["IG_cutplan"] emits "orchestrator.cutplan_ok" audit no;
        "IG_backup" "cutplan_ok" => "pre_write_backup_taken"
            by "executor_dot991" on "condition_resolved" "IG_backup"
            if ["IG_backup"] emits "orchestrator.pre_write_backup_taken" audit no;
        "IG_grant_probe" "pre_write_backup_taken" => "grants_probed"
            by "executor_dot991" on "condition_resolved" "IG_grant_probe"
            if ["IG_grant_probe"] emits "orchestrator.grants_probed" audit no;
        "SG_cut_authz_request" "grants_probed" => "awaiting_cut_authorization"
            by "executor_dot991" on "condition_resolved" "SG_cut_authz_request"
            if ["SG_cut_authz_request"] emits "orchestrator.awaiting_cut_authorization" audit no;
        "SG_cut_authz_received" "awaiting_cut_authorization" => "cut_leg_a_committed"
            by "executor_dot991" on "condition_resolved" "SG_cut_authz_received"
            if ["SG_cut_authz_received", "IG_cut_leg_a_execute"]
            emits "orchestrator.cut_leg_a_committed" audit no;
        "IG_structural_verify" "cut_leg_a_committed" => "structural_verified"
            by "executor_dot991" on "condition_resolved" "IG_structural_verify"
            if ["IG_structural_verify"] emits "orchestrator.structural_verified" audit no;
        "IG_leg_b_record" "structural_verified" => "leg_b_recorded"
            by "executor_dot991" on "condition_resolved" "IG_leg_b_record"
            if ["IG_leg_b_record"] emits "orchestrator.leg_b_recorded" audit no;
        "IG_write_verify" "leg_b_recorded" => "write_verified"
            by "verifier_dot992" on "condition_resolved" "IG_write_verify"
            if ["IG_write_verify"] emits "orchestrator.write_verified" audit no;
        "SG_lifecycle_authz_request" "write_verified" => "awaiting_lifecycle_authorization"
            by "executor_dot991" on "condition_resolved" "SG_lifecycle_authz_request"
            if ["SG_lifecycle_authz_request"]
            emits "orchestrator.awaiting_lifecycle_authorization" audit no;
        "SG_lifecycle_authz_received" "awaiting_lifecycle_authorization" => "lifecycle_enacted"
            by "executor_dot991" on "condition_resolved" "SG_lifecycle_authz_received"
            if ["SG_lifecycle_authz_received", "IG_lifecycle_enact_execute"]
            emits "orchestrator.lifecycle_enacted" audit no;
        "IG_closeout" "lifecycle_enacted" => "closeout_reported"
            by "executor_dot991" on "condition_resolved" "IG_closeout"
            if ["IG_closeout"] emits "orchestrator.closeout_reported" audit no;
    }
}

/// Each state fails at its next internal gate; before a sovereign request there is none to fail at.
fn failures() -> Vec<Rule> {
    rules! {
        "fail_source_pin" "pending" => "failed_source_pin"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_mark" "source_pinned" => "failed_mark"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_cutplan" "marked" => "failed_cutplan"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_backup" "cutplan_ok" => "failed_backup"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_grant_probe" "pre_write_backup_taken" => "failed_grant_probe"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_cut_leg_a" "awaiting_cut_authorization" => "failed_cut_leg_a"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_structural_verify" "cut_leg_a_committed" => "failed_structural_verify"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_leg_b_record" "structural_verified" => "failed_leg_b_record"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_write_verify" "leg_b_recorded" => "failed_write_verify"
            by "verifier_dot992" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_write_verify" "leg_b_recorded" => "failed_write_verify"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_lifecycle_enact" "awaiting_lifecycle_authorization" => "failed_lifecycle_enact"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
        "fail_closeout" "lifecycle_enacted" => "failed_closeout"
            by "executor_dot991" on "event" "invariant_violation"
            if [] emits "orchestrator.failed" audit no;
    }
}

fn stops() -> Vec<Rule> {
    let kinds = [
        ("stop_sovereign", "stopped_sovereign", "sovereign", ("rpc", "orchestrate_stop")),
        ("stop_drift", "stopped_drift", "executor_dot991", ("event", "drift_detected")),
        ("stop_over_cap", "stopped_over_cap", "executor_dot991", ("event", "over_cap")),
        ("stop_exception", "stopped_exception", "executor_dot991", ("event", "uncaught_exception")),
    ];
    let mut rules = Vec::new();
    for from in UNDER_WAY {
        for (label, to, actor, trigger) in kinds {
            rules.push(Rule {
                label,
                from: Some(from),
                to,
                actor,
                trigger,
                guards: &[],
                event: Some("orchestrator.stopped"),
                audit: false,
            });
        }
    }
    rules
}

/// The rows allow every state; G-RESUME-STATE narrows each run to the one it was stopped in.
fn resumes() -> Vec<Rule> {
    let mut rules = Vec::new();
    for from in STOPPED {
        let (label, guards): (_, &'static [&'static str]) = match from {
            "stopped_drift" => ("resume_drift", &["G-RESUME-STATE", "G-DRIFT-ACK"]),
            _ => ("resume", &["G-RESUME-STATE", "G-RESUME-APPROVAL"]),
        };
        for to in UNDER_WAY {
            rules.push(Rule {
                label,
                from: Some(from),
                to,
                actor: "executor_dot991",
                trigger: ("rpc", "orchestrate_resume"),
                guards,
                event: Some("orchestrator.resumed"),
                audit: false,
            });
        }
    }
    rules
}

fn voids() -> Vec<Rule> {
    let everywhere = UNDER_WAY.into_iter().chain(STOPPED).chain(FAILED);
    everywhere
        .map(|from| Rule {
            label: "void",
            from: Some(from),
            to: "voided_sovereign",
            actor: "sovereign",
            trigger: ("rpc", "orchestrate_void"),
            guards: &["G-VOID-DOCUMENT"],
            event: Some("orchestrator.voided"),
            audit: true,
        })
        .collect()
}
