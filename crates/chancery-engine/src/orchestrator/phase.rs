//! The phases of a run, in order, each through one gate.

/// One step forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    SourcePin,
    Mark,
    Cutplan,
    Backup,
    GrantProbe,
    CutAuthzRequest,
    CutLegA,
    StructuralVerify,
    LegBRecord,
    WriteVerify,
    LifecycleAuthzRequest,
    LifecycleEnact,
    Closeout,
}

/// Every state of a run that goes well, in order.
pub const STATES: [&str; 14] = [
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
    "closeout_reported",
];

impl Phase {
    pub const ALL: [Self; 13] = [
        Self::SourcePin,
        Self::Mark,
        Self::Cutplan,
        Self::Backup,
        Self::GrantProbe,
        Self::CutAuthzRequest,
        Self::CutLegA,
        Self::StructuralVerify,
        Self::LegBRecord,
        Self::WriteVerify,
        Self::LifecycleAuthzRequest,
        Self::LifecycleEnact,
        Self::Closeout,
    ];

    /// The phase that leads on from a state.
    pub fn after(state: &str) -> Option<Self> {
        let at = STATES.iter().position(|known| *known == state)?;
        Self::ALL.get(at).copied()
    }

    /// The phase whose gate has this name.
    pub fn of_gate(gate: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.gate() == gate)
    }

    /// The state that it reaches.
    pub fn to(self) -> &'static str {
        let at = Self::ALL.iter().position(|phase| *phase == self).unwrap_or_default();
        STATES[at + 1]
    }

    /// Its name in the sidecar and in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SourcePin => "source_pin",
            Self::Mark => "mark",
            Self::Cutplan => "cutplan",
            Self::Backup => "backup",
            Self::GrantProbe => "grant_probe",
            Self::CutAuthzRequest => "cut_authz_request",
            Self::CutLegA => "cut_leg_a",
            Self::StructuralVerify => "structural_verify",
            Self::LegBRecord => "leg_b_record",
            Self::WriteVerify => "write_verify",
            Self::LifecycleAuthzRequest => "lifecycle_authz_request",
            Self::LifecycleEnact => "lifecycle_enact",
            Self::Closeout => "closeout",
        }
    }

    /// The transition of the machine.
    pub const fn gate(self) -> &'static str {
        match self {
            Self::SourcePin => "IG_source_pin",
            Self::Mark => "IG_mark",
            Self::Cutplan => "IG_cutplan",
            Self::Backup => "IG_backup",
            Self::GrantProbe => "IG_grant_probe",
            Self::CutAuthzRequest => "SG_cut_authz_request",
            Self::CutLegA => "SG_cut_authz_received",
            Self::StructuralVerify => "IG_structural_verify",
            Self::LegBRecord => "IG_leg_b_record",
            Self::WriteVerify => "IG_write_verify",
            Self::LifecycleAuthzRequest => "SG_lifecycle_authz_request",
            Self::LifecycleEnact => "SG_lifecycle_authz_received",
            Self::Closeout => "IG_closeout",
        }
    }

    /// The phase that reached a state.
    pub fn before(state: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.to() == state)
    }

    /// The guards of its transition: what the sovereign said, and what was done on that word, are asked apart.
    pub const fn guards(self) -> &'static [&'static str] {
        match self {
            Self::SourcePin => &["IG_source_pin"],
            Self::Mark => &["IG_mark"],
            Self::Cutplan => &["IG_cutplan"],
            Self::Backup => &["IG_backup"],
            Self::GrantProbe => &["IG_grant_probe"],
            Self::CutAuthzRequest => &["SG_cut_authz_request"],
            Self::CutLegA => &["SG_cut_authz_received", "IG_cut_leg_a_execute"],
            Self::StructuralVerify => &["IG_structural_verify"],
            Self::LegBRecord => &["IG_leg_b_record"],
            Self::WriteVerify => &["IG_write_verify"],
            Self::LifecycleAuthzRequest => &["SG_lifecycle_authz_request"],
            Self::LifecycleEnact => &["SG_lifecycle_authz_received", "IG_lifecycle_enact_execute"],
            Self::Closeout => &["IG_closeout"],
        }
    }

    /// The file `phase-<NN>.md`; requests have none.
    pub fn number(self) -> Option<u8> {
        let internal = Self::ALL
            .into_iter()
            .filter(|phase| !matches!(phase, Self::CutAuthzRequest | Self::LifecycleAuthzRequest));
        internal.zip(1..).find_map(|(phase, number)| (phase == self).then_some(number))
    }

    /// The state of a run that fails here; a request cannot fail, it is stopped.
    pub fn failed(self) -> Option<String> {
        self.number().map(|_| format!("failed_{}", self.name()))
    }
}

/// The question that a run in this state has before the sovereign.
pub fn question(state: &str) -> Option<&'static str> {
    match state {
        "awaiting_cut_authorization" => Some("SG_cut_authz"),
        "awaiting_lifecycle_authorization" => Some("SG_lifecycle_authz"),
        "stopped_drift" => Some("SG_drift_ack"),
        stopped if stopped.starts_with("stopped_") => Some("SG_resume_stopped"),
        _ => None,
    }
}

/// The kind of approval that answers a question.
pub(super) const fn approval_kind(question: &str) -> &'static str {
    match question.as_bytes() {
        b"SG_cut_authz" => "cut_authorization",
        b"SG_lifecycle_authz" => "lifecycle_authorization",
        b"SG_drift_ack" => "drift_ack",
        _ => "resume_stopped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_but_the_last_leads_on_and_eleven_phases_are_internal() {
        for (n, state) in STATES.iter().enumerate() {
            assert_eq!(Phase::after(state).map(Phase::to), STATES.get(n + 1).copied());
        }
        let numbered: Vec<u8> = Phase::ALL.into_iter().filter_map(Phase::number).collect();
        assert_eq!(numbered, (1..=11).collect::<Vec<u8>>());
        assert_eq!(Phase::of_gate("IG_closeout"), Some(Phase::Closeout));
    }
}
