//! Ids that say what they are of: a prefix, an underscore, 32 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Why a text is no id of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// It is an id of something else.
    Foreign,
    /// It is no id.
    NoId,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "this is the id of another kind of thing",
            Self::NoId => "an id is a prefix and 32 hexadecimal digits",
        })
    }
}

impl std::error::Error for Malformed {}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal)*) => {
        /// Every prefix.
        pub const PREFIXES: &[&str] = &[$($prefix,)*];

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(pub Uuid);

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!($prefix, "_{}"), self.0.simple())
                }
            }

            impl FromStr for $name {
                type Err = Malformed;

                fn from_str(text: &str) -> Result<Self, Malformed> {
                    parse(text, $prefix).map(Self)
                }
            }

            impl From<Uuid> for $name {
                fn from(id: Uuid) -> Self {
                    Self(id)
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                    text.parse().map_err(serde::de::Error::custom)
                }
            }

            impl JsonSchema for $name {
                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!({ "type": "string", "pattern": concat!("^", $prefix, "_[0-9a-f]{32}$") })
                }
            }
        )*
    };
}

ids! {
    /// A session of a browser.
    SessionId "ses"
    /// A token of a program.
    TokenId "tok"
    /// A key that signs, and the request for one.
    KeyId "key"
    /// A run of a custom machine.
    RunId "run"
    /// A run of a workflow.
    WorkflowRunId "wfr"
    /// A step of a run.
    StepRunId "stp"
    /// A task of a step.
    TaskRunId "tsk"
    /// What a step or task waits for.
    WaitId "wai"
    /// A proposed change of a workflow.
    ChangeId "chg"
    /// A proposal that is not about a workflow.
    ProposalId "prp"
    /// A request for approval.
    ApprovalId "apr"
    /// A vote.
    VoteId "vot"
    /// A request to cut.
    EntryId "ent"
    /// A run of the orchestrator.
    OrchestratorRunId "orc"
    /// An information unit.
    UnitId "unt"
    /// A version of a unit.
    UnitVersionId "unv"
    /// A version of a source document.
    SourceVersionId "src"
    /// A signature under a document or in a lane.
    SignatureId "sig"
    /// A decision on a request to cut.
    DecisionId "dec"
    /// A manifest of units.
    ManifestId "mnf"
    /// What a cut wrote.
    ChangeSetId "cst"
    /// A verdict on a cut.
    VerifyResultId "vrs"
    /// A permit to be born.
    PermitId "prm"
    /// A job.
    JobId "job"
    /// A batch of replays.
    BatchId "bat"
    /// A finding.
    IssueId "iss"
    /// A summary.
    SummaryId "sum"
    /// An event.
    EventId "evt"
}

/// The id that a text with this prefix names. A plain UUID, as the command line prints them, is taken as well.
///
/// # Errors
/// When it is none, or one of another kind.
pub fn parse(text: &str, prefix: &str) -> Result<Uuid, Malformed> {
    let digits = match text.split_once('_') {
        Some((given, digits)) if given == prefix => digits,
        Some((given, _)) if PREFIXES.contains(&given) => return Err(Malformed::Foreign),
        Some(_) => return Err(Malformed::NoId),
        None if text.len() == 36 => text,
        None => return Err(Malformed::NoId),
    };
    let plain = text.len() == 36 && digits.len() == 36;
    let lower =
        digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b) || b == b'-');
    if !lower || !(plain || digits.len() == 32) {
        return Err(Malformed::NoId);
    }
    Uuid::try_parse(digits).map_err(|_| Malformed::NoId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_as_it_is_written_and_as_nothing_else() {
        let id = WorkflowRunId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_00ab));
        let text = id.to_string();
        assert_eq!(text, "wfr_019200000000700080000000000000ab");
        assert_eq!(text.parse(), Ok(id));
        assert_eq!(id.0.to_string().parse(), Ok(id), "as the command line prints it");
        assert_eq!(text.parse::<StepRunId>(), Err(Malformed::Foreign));
        for bad in [
            "",
            "wfr_",
            "wfr",
            "wfr_0",
            "xyz_019200000000700080000000000000ab",
            &text.to_uppercase(),
            "../etc",
        ] {
            assert_eq!(bad.parse::<WorkflowRunId>(), Err(Malformed::NoId), "{bad}");
        }
    }
}
