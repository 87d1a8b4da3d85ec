//! The names a refusal can carry.

use serde::Serialize;

/// Why a request was refused. The variants stand in the order in which the engine reports them.
///
/// The model itself never answers with those that need what it does not hold: logins, keys and
/// signatures, several machines at once, raw evidence, an event registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum Problem {
    RunUnknown,
    RunKindUnknown,
    /// The target is no state of this machine.
    StateUnknown,
    NoMatchingTransition,
    WrongTrigger,
    /// One a refusing guard, in the order of the row.
    TransitionRefusedByGuard {
        guard: &'static str,
    },
    AuditReferenceMissing,
    EventTypeNotRegistered,
    StaleFromState,
    FacetMissing,
    TransitionProposed,
    IdempotencyKeyReused,
    IdempotencyKeyMissing,
    EvidenceMalformed,
    EventPayloadInvalid,
    PrincipalUnknown,
    PrincipalInactive,
    ActorClassNotHeld,
    LoginMayNotAct,
    KeyUnknown,
    KeyRevoked,
    SignatureRequired,
}

impl Problem {
    /// The name as it stands in a verdict's problem list.
    pub fn name(self) -> &'static str {
        self.name_and_code().0
    }

    /// The SQLSTATE the database raises for it.
    pub fn code(self) -> &'static str {
        self.name_and_code().1
    }

    fn name_and_code(self) -> (&'static str, &'static str) {
        match self {
            Self::RunUnknown => ("run_unknown", "RS001"),
            Self::RunKindUnknown => ("run_kind_unknown", "RS002"),
            Self::StateUnknown => ("state_unknown", "RS003"),
            Self::NoMatchingTransition => ("no_matching_transition", "RS004"),
            Self::WrongTrigger => ("wrong_trigger", "RS005"),
            Self::TransitionRefusedByGuard { .. } => ("transition_refused_by_guard", "RS006"),
            Self::AuditReferenceMissing => ("audit_reference_missing", "RS007"),
            Self::EventTypeNotRegistered => ("event_type_not_registered", "RE001"),
            Self::StaleFromState => ("stale_from_state", "RS009"),
            Self::FacetMissing => ("facet_missing", "RS010"),
            Self::TransitionProposed => ("transition_proposed", "RS011"),
            Self::IdempotencyKeyReused => ("idempotency_key_reused", "RS012"),
            Self::IdempotencyKeyMissing => ("idempotency_key_missing", "RS013"),
            Self::EvidenceMalformed => ("evidence_malformed", "RS014"),
            Self::EventPayloadInvalid => ("event_payload_invalid", "RE002"),
            Self::PrincipalUnknown => ("principal_unknown", "RI001"),
            Self::PrincipalInactive => ("principal_inactive", "RI002"),
            Self::ActorClassNotHeld => ("actor_class_not_held", "RI003"),
            Self::LoginMayNotAct => ("login_may_not_act", "RI004"),
            Self::KeyUnknown => ("key_unknown", "RI005"),
            Self::KeyRevoked => ("key_revoked", "RI006"),
            Self::SignatureRequired => ("signature_required", "RI008"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serialised_name_is_the_name() {
        let guard = Problem::TransitionRefusedByGuard { guard: "G-APPROVAL" };
        let json = serde_json::to_value(guard).expect("a problem is plain data");
        assert_eq!(
            json,
            serde_json::json!({ "problem": "transition_refused_by_guard", "guard": "G-APPROVAL" })
        );
        for problem in [Problem::RunUnknown, Problem::StaleFromState, Problem::SignatureRequired] {
            let json = serde_json::to_value(problem).expect("a problem is plain data");
            assert_eq!(json, serde_json::json!({ "problem": problem.name() }));
        }
    }
}
