//! What an audit says.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use uuid::Uuid;

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Mismatch {
    /// The table of the row that it concerns, `room.table`.
    pub table: &'static str,
    /// The row: its key, the parts joined by `/`.
    pub key: String,
    /// The run or entry that the row belongs to, where one does.
    pub run_id: Option<Uuid>,
    /// The number of the log row, when it concerns one.
    pub seq: Option<i64>,
    /// Which rule does not hold.
    pub rule: &'static str,
    pub what: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {} ({})", self.table, self.key, self.what, self.rule)
    }
}

/// A key that a signature was checked with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyUse {
    pub key_id: Uuid,
    pub principal: String,
    /// Hex.
    pub public_key: String,
    pub signatures: u64,
    /// Whether the auditor named this key; otherwise whose it is was taken on trust from what is audited.
    pub pinned: bool,
}

/// What was looked at and what did not fit.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Runs of custom machines and of the orchestrator, jobs that the log knows and their replays, findings, permits, what was
    /// handed to governance, runs of workflows with their steps and tasks, and proposals.
    pub runs: u64,
    /// Entries of the cutter.
    pub entries: u64,
    /// Log rows.
    pub rows: u64,
    /// Signatures of moves, decisions and lanes.
    pub signatures: u64,
    /// Rows of evidence whose digest was computed again, by table.
    pub evidence: BTreeMap<&'static str, u64>,
    pub keys: Vec<KeyUse>,
    /// Moves without a signature of services whose keys are pinned, by name. Nothing is wrong with them; that these are services is
    /// what the audited rows say.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unsigned_services: BTreeMap<String, u64>,
    /// In the order in which they were found; the first is the one to look at, others may follow from it.
    pub mismatches: Vec<Mismatch>,
    #[serde(skip)]
    known: HashSet<Mismatch>,
}

impl Report {
    /// Whether everything fits.
    pub fn ok(&self) -> bool {
        self.mismatches.is_empty()
    }

    /// Keeps a mismatch. The same thing seen again, as context of another entry, is no second one.
    pub(super) fn found(&mut self, mismatch: Mismatch) {
        if self.known.insert(mismatch.clone()) {
            self.mismatches.push(mismatch);
        }
    }
}
