//! The refusals of the database, as a closed list.
//!
//! `config.refusal` holds their words; a test compares both lists, the pages in `docs/errors` and the codes raised in `sql/`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

macro_rules! codes {
    ($($code:ident $problem:literal)*) => {
        /// A SQLSTATE of class `R?`. Codes are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "UPPERCASE")]
        pub enum Code {
            $(#[doc = $problem] $code,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// The SQLSTATE.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => stringify!($code),)* }
            }

            /// The name of the problem, as previews and facts carry it.
            pub const fn problem(self) -> &'static str {
                match self { $(Self::$code => $problem,)* }
            }
        }
    };
}

codes! {
    RS001 "run_unknown"
    RS002 "run_kind_unknown"
    RS003 "state_unknown"
    RS004 "no_matching_transition"
    RS005 "wrong_trigger"
    RS006 "transition_refused_by_guard"
    RS007 "audit_reference_missing"
    RS009 "stale_from_state"
    RS010 "facet_missing"
    RS011 "transition_proposed"
    RS012 "idempotency_key_reused"
    RS013 "idempotency_key_missing"
    RS014 "evidence_malformed"
    RS015 "direct_write_refused"
    RS016 "append_only"
    RS017 "state_differs_from_log"
    RS018 "machine_unknown"
    RS019 "machine_version_in_use"
    RS020 "machine_unsound"
    RS021 "guard_not_registered"
    RS022 "guard_function_unfit"
    RS023 "run_exists"
    RS024 "parent_not_open"
    RS025 "isolation_unfit"
    RS026 "moved_by_its_room"
    RS027 "shape_refused"
    RS028 "machine_older_than_active"
    RS029 "colour_incomplete"
    RB001 "permit_missing"
    RB002 "family_unknown"
    RB003 "code_unfit"
    RB004 "code_changed"
    RB005 "born_and_gone"
    RB006 "constraints_immediate"
    RB007 "gate_on_another_table"
    RB008 "half_birth"
    RB009 "another_intent"
    RB010 "born_before"
    RB011 "approval_missing"
    RB012 "birth_request_malformed"
    RB013 "rehearsal"
    RB014 "step_out_of_order"
    RB015 "command_unknown"
    RB016 "own_permit"
    RB017 "break_glass_unfit"
    RB018 "table_unfit"
    RB019 "permit_unknown"
    RB020 "payload_unfit"
    RB021 "codes_not_drawn"
    RB022 "batch_differs"
    RE001 "event_type_not_registered"
    RE002 "event_payload_invalid"
    RE003 "schema_outside_subset"
    RE004 "event_refusal_malformed"
    RE005 "event_type_registered_otherwise"
    RE006 "executor_class_unknown"
    RE007 "job_malformed"
    RE008 "job_payload_invalid"
    RE009 "job_key_reused"
    RE010 "lease_lost"
    RE011 "job_unknown"
    RE012 "job_is_done"
    RE013 "retry_policy_invalid"
    RE014 "executor_class_invalid"
    RE015 "dead_letter_not_open"
    RE016 "replay_batch_invalid"
    RE017 "replay_not_open"
    RE018 "worker_malformed"
    RE019 "loop_lease_malformed"
    RE020 "finding_unknown"
    RE021 "finding_malformed"
    RE022 "heartbeat_malformed"
    RE023 "worker_still_silent"
    RE024 "lag_window_invalid"
    RE030 "consumer_unknown"
    RE031 "consumer_unfit"
    RE032 "consumer_moved_on"
    RE033 "position_out_of_reach"
    RE034 "consumer_outrun"
    RE040 "category_unknown"
    RE041 "problem_unknown"
    RE042 "timeline_unbounded"
    RE043 "page_malformed"
    RE044 "summary_malformed"
    RE045 "summary_without_sources"
    RE046 "summary_window_unfit"
    RE047 "summary_unresolved"
    RE048 "summary_confidence_missing"
    RE049 "summary_unknown"
    RE050 "worker_class_unknown"
    RI001 "principal_unknown"
    RI002 "principal_inactive"
    RI003 "actor_class_not_held"
    RI004 "login_may_not_act"
    RI005 "key_unknown"
    RI006 "key_revoked"
    RI007 "key_taken"
    RI008 "signature_required"
    RI009 "principal_kind_differs"
    RI010 "principal_malformed"
    RI011 "actor_class_unknown"
    RI012 "key_malformed"
    RI013 "reason_missing"
    RI020 "document_malformed"
    RI021 "document_prefix_taken"
    RI022 "source_unfit"
    RI024 "unit_malformed"
    RI025 "unit_written_directly"
    RI026 "unit_anchor_broken"
    RI027 "unit_not_a_draft"
    RI028 "unit_unknown"
    RI029 "edit_draft_unfit"
    RI030 "enactment_not_decided"
    RI040 "permission_missing"
    RI041 "credential_unknown"
    RI042 "credential_expired"
    RI043 "credential_ended"
    RI044 "sign_in_refused"
    RI045 "sign_in_locked"
    RI046 "identity_not_linked"
    RI047 "password_unfit"
    RI048 "token_unfit"
    RI049 "link_unfit"
    RI050 "key_request_unknown"
    RI051 "signature_invalid"
    RI052 "key_unusable"
    RI053 "key_possession_unproven"
    RI057 "acknowledgement_unfit"
    RC001 "entry_unknown"
    RC002 "request_malformed"
    RC003 "dependency_cycle"
    RC004 "dependency_unknown"
    RC005 "manifest_unfit"
    RC006 "manifest_digest_differs"
    RC007 "signed_text_differs"
    RC008 "decision_moved_on"
    RC009 "signature_chain_moved"
    RC010 "signature_time_off"
    RC011 "address_taken"
    RC012 "effect_differs"
    RC013 "pass_contradicted"
    RC014 "verdict_malformed"
    RC015 "request_differs"
    RC016 "sweep_malformed"
    RC017 "decision_malformed"
    RC018 "enactment_not_reviewable"
    RC019 "nothing_to_verify"
    RC020 "verifier_not_independent"
    RC021 "cut_taken_back"
    RC022 "cut_would_fail"
    RC023 "decision_stands"
    RA001 "approval_malformed"
    RA002 "approval_unknown"
    RA003 "approval_for_another"
    RA004 "own_request"
    RA005 "approval_decided"
    RA006 "approval_not_given"
    RA008 "approval_id_taken"
    RA009 "vote_malformed"
    RA010 "agents_do_not_vote"
    RA020 "kb_document_malformed"
    RA021 "kb_moved_on"
    RA022 "kb_revision_unknown"
    RA030 "authority_revoked"
    RO001 "orchestrator_run_unknown"
    RO002 "gate_invariant_violated"
    RO003 "drift_detected"
    RO004 "approval_differs"
    RO005 "gate_not_next"
    RO006 "orchestrated_document_unknown"
    RO007 "document_has_a_run"
    RO008 "document_is_enacted"
    RO009 "run_name_malformed"
    RO010 "driven_by_a_run"
    RO011 "backup_key_malformed"
    RO012 "path_of_a_run"
    RO013 "run_would_fail"
    RW001 "not_in_workflows"
    RW002 "call_unknown"
    RW003 "definition_unfit"
    RW004 "change_stale"
    RW005 "change_not_editable"
    RW006 "run_on_hold"
    RW007 "wait_malformed"
    RW008 "output_breaks_contract"
    RW009 "work_document_malformed"
    RW010 "inputs_break_contract"
    RW012 "callback_unknown"
    RW013 "callback_used"
    RW014 "callback_late"
    RW015 "not_waited_for"
    RW016 "deadline_malformed"
    RW017 "escalation_needs_approval"
    RW018 "not_blocked"
    RW019 "run_id_taken"
    RW020 "not_by_this_class"
    RW021 "proposal_malformed"
    RW022 "step_unit_unknown"
    RW023 "rollup_policy_unknown"
    RW024 "failure_class_unknown"
    RW025 "job_superseded"
    RW026 "workflow_change_malformed"
    RW027 "note_malformed"
    RW028 "hidden_steps_missing"
    RW029 "run_stays_completed"
}

impl Code {
    /// The code of a SQLSTATE, when it is one of ours.
    pub fn from_sqlstate(sqlstate: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == sqlstate)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One named problem with its facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    pub code: Code,
    pub problem: String,
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

/// What the database answered instead of doing it: every problem, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refusal {
    pub code: Code,
    pub title: String,
    pub hint: String,
    pub problems: Vec<Problem>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "refused {} {}: {}", self.code, self.code.problem(), self.title)
    }
}
