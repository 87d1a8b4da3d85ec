//! The hash chain of the transition log, recomputed from raw columns.
//!
//! `internal.log_hash` computes the same in PostgreSQL when a row is written. The audit never asks the audited database
//! for a hash: it uses this. A row names the version of its hash, and each version has a pinned list of columns ([`Log`]).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::envelope::Statement;

/// One row of `fsm.transition_log` as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    pub run_id: Uuid,
    pub seq: i64,
    pub log_id: Uuid,
    pub run_kind: String,
    pub state_machine_id: String,
    pub transition_id: String,
    pub from_state: Option<String>,
    pub to_state: String,
    pub facet: Option<String>,
    pub principal: String,
    pub actor_class: String,
    pub trigger_kind: String,
    pub trigger_ref: String,
    pub reason: Option<String>,
    /// Canonical JSON, as stored.
    pub evidence: String,
    pub event_type: Option<String>,
    pub artefact_digest: Option<Vec<u8>>,
    pub idempotency_key: String,
    pub key_id: Option<Uuid>,
    pub signature: Option<Vec<u8>>,
    /// Microseconds since 1970: timestamps as text follow the session's time zone.
    pub at_micros: i64,
    pub prev_hash: Option<Vec<u8>>,
    pub hash: Vec<u8>,
    /// What the hash and the signed statement are over.
    pub hash_version: i16,
    /// Columns that came after version 1.
    pub more: BTreeMap<String, Option<String>>,
}

/// Rebuilds what was signed for a move; the second argument is the run's data, for its birth only.
pub type Rebuild = fn(&LogRow, Option<&Value>) -> Result<Statement, serde_json::Error>;

/// What each version of a log row's hash is over.
#[derive(Debug, Clone)]
pub struct Log {
    /// The first one is version 1.
    versions: Vec<LogVersion>,
}

/// One version: two lists of columns, and the statement that moves of this version were signed under.
#[derive(Debug, Clone)]
pub struct LogVersion {
    /// Values whose alphabet has no comma: ids, numbers, hex.
    plain: Vec<&'static str>,
    /// Free texts.
    texts: Vec<&'static str>,
    statement: Rebuild,
}

const FIRST_PLAIN: &str = "run_id seq log_id key_id at_micros prev_hash artefact_digest signature";
const FIRST_TEXTS: &str = "run_kind state_machine_id transition_id from_state to_state facet principal actor_class \
                           trigger_kind trigger_ref reason evidence event_type idempotency_key";

impl Log {
    /// What this release knows.
    pub fn of_this_release() -> Self {
        let first = LogVersion {
            plain: FIRST_PLAIN.split_ascii_whitespace().collect(),
            texts: FIRST_TEXTS.split_ascii_whitespace().collect(),
            statement: Statement::of_log_row_v1,
        };
        Self { versions: vec![first] }
    }

    /// A further version: over what the one before it was over, and these texts behind it. `statement` rebuilds what was signed.
    ///
    /// # Panics
    /// Never: the log has a version from the start.
    #[must_use]
    pub fn add_texts(mut self, columns: &'static str, statement: Rebuild) -> Self {
        let mut next = self.versions.last().expect("a first version").clone();
        next.texts.extend(columns.split_ascii_whitespace());
        next.statement = statement;
        self.versions.push(next);
        self
    }

    /// The version of this number.
    pub fn version(&self, number: i16) -> Option<&LogVersion> {
        self.versions.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// Every version; the first one is version 1.
    pub fn versions(&self) -> &[LogVersion] {
        &self.versions
    }

    /// Every column that the log has in this release, ascending.
    pub fn columns(&self) -> Vec<&'static str> {
        let pinned = self.versions.iter().flat_map(LogVersion::columns);
        // In a row of the log a time is microseconds; the column has the name of the time.
        let pinned = pinned.map(|column| if column == "at_micros" { "at" } else { column });
        let mut all: Vec<&str> = pinned.chain(["hash", "hash_version"]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The columns that came after version 1, in their order.
    pub fn more(&self) -> impl Iterator<Item = &'static str> {
        let first = self.versions.first();
        let last = self.versions.last();
        last.into_iter().flat_map(LogVersion::columns).filter(move |column| {
            first.is_none_or(|first| !first.columns().any(|known| known == *column))
        })
    }
}

impl LogVersion {
    /// What the hash is over, in its order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.plain.iter().chain(&self.texts).copied()
    }

    /// The columns of the row that have a value although this version's hash is not over them.
    pub fn beyond<'r>(&self, row: &'r LogRow) -> Vec<&'r str> {
        let more = row.more.iter().filter(|(_, value)| value.is_some());
        more.map(|(name, _)| name.as_str())
            .filter(|name| !self.columns().any(|column| column == *name))
            .collect()
    }

    /// What was signed for a move of this version; `data` is the run's, for the birth row only.
    ///
    /// # Errors
    /// When the stored evidence is not JSON: then no signature can be good for it.
    pub fn statement(
        &self,
        row: &LogRow,
        data: Option<&Value>,
    ) -> Result<Statement, serde_json::Error> {
        (self.statement)(row, data)
    }
}

/// The hash that the first logged move of a job is chained to, as `queue.genesis` makes it.
pub fn job_genesis(job_id: Uuid) -> [u8; 32] {
    Sha256::digest(format!("chancery.job.v1,{job_id}")).into()
}

/// The id of the job with this key in this class, as `queue.job_id` makes it.
pub fn job_id(executor_class: &str, key: &str) -> Uuid {
    let digest = Sha256::digest(format!("chancery.job.v1,{executor_class},{key}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x0f) | 0xa0;
    Uuid::from_bytes(bytes)
}

impl LogRow {
    /// The hash that this row must carry, over every stored column but the hash itself, as this release knows it.
    ///
    /// # Panics
    /// When the row is of a version that this release does not know; [`LogRow::hash_in`] says so instead.
    pub fn expected_hash(&self) -> [u8; 32] {
        self.hash_in(&Log::of_this_release()).expect("a version that this release knows")
    }

    /// The hash that this row must carry; `None` when it is of no version that is known.
    pub fn hash_in(&self, log: &Log) -> Option<[u8; 32]> {
        let version = log.version(self.hash_version)?;
        let mut text = format!("chancery.log.v{},", self.hash_version);
        for column in &version.plain {
            text.push_str(&self.value(column).unwrap_or_default());
            text.push(',');
        }
        let texts: Vec<Option<Cow<'_, str>>> =
            version.texts.iter().map(|column| self.value(column)).collect();
        for (n, value) in texts.iter().enumerate() {
            let separator = if n == 0 { "" } else { "," };
            match value {
                None => write!(text, "{separator}-1"),
                Some(value) => write!(text, "{separator}{}", value.len()),
            }
            .expect("writing to a string cannot fail");
        }
        text.push(':');
        texts.iter().flatten().for_each(|value| text.push_str(value));
        Some(Sha256::digest(text.as_bytes()).into())
    }

    /// A column as the hash is over it.
    fn value(&self, column: &str) -> Option<Cow<'_, str>> {
        let hex = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| hex::encode(bytes).into());
        match column {
            "run_id" => Some(self.run_id.to_string().into()),
            "seq" => Some(self.seq.to_string().into()),
            "log_id" => Some(self.log_id.to_string().into()),
            "key_id" => self.key_id.map(|id| id.to_string().into()),
            "at_micros" => Some(self.at_micros.to_string().into()),
            "prev_hash" => hex(&self.prev_hash),
            "artefact_digest" => hex(&self.artefact_digest),
            "signature" => hex(&self.signature),
            "run_kind" => Some(self.run_kind.as_str().into()),
            "state_machine_id" => Some(self.state_machine_id.as_str().into()),
            "transition_id" => Some(self.transition_id.as_str().into()),
            "from_state" => self.from_state.as_deref().map(Cow::from),
            "to_state" => Some(self.to_state.as_str().into()),
            "facet" => self.facet.as_deref().map(Cow::from),
            "principal" => Some(self.principal.as_str().into()),
            "actor_class" => Some(self.actor_class.as_str().into()),
            "trigger_kind" => Some(self.trigger_kind.as_str().into()),
            "trigger_ref" => Some(self.trigger_ref.as_str().into()),
            "reason" => self.reason.as_deref().map(Cow::from),
            "evidence" => Some(self.evidence.as_str().into()),
            "event_type" => self.event_type.as_deref().map(Cow::from),
            "idempotency_key" => Some(self.idempotency_key.as_str().into()),
            later => self.more.get(later)?.as_deref().map(Cow::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> LogRow {
        LogRow {
            run_id: Uuid::nil(),
            seq: 1,
            log_id: Uuid::nil(),
            run_kind: "custom".to_owned(),
            state_machine_id: "m@1.0.0".to_owned(),
            transition_id: "t".to_owned(),
            from_state: None,
            to_state: "s".to_owned(),
            facet: None,
            principal: "amy".to_owned(),
            actor_class: "c".to_owned(),
            trigger_kind: "rpc".to_owned(),
            trigger_ref: "r".to_owned(),
            reason: Some(String::new()),
            evidence: "{}".to_owned(),
            event_type: None,
            artefact_digest: None,
            idempotency_key: "k".to_owned(),
            key_id: None,
            signature: None,
            at_micros: 5,
            prev_hash: None,
            hash: Vec::new(),
            hash_version: 1,
            more: BTreeMap::new(),
        }
    }

    /// AUD-1: the bytes of version 1, written out.
    #[test]
    fn version_1_is_over_what_it_always_was() {
        let id = Uuid::nil();
        let bytes = format!(
            "chancery.log.v1,{id},1,{id},,5,,,,6,7,1,-1,1,-1,3,1,3,1,0,2,-1,1:customm@1.0.0tsamycrpcr{{}}k"
        );
        assert_eq!(row().expected_hash(), <[u8; 32]>::from(Sha256::digest(bytes)));
    }

    /// AUD-1: a hash binds its version, and a column that came later counts from the version that it came with.
    #[test]
    fn a_hash_binds_its_version_and_what_came_with_it() {
        let same = Log::of_this_release().add_texts("", Statement::of_log_row_v1);
        let second = LogRow { hash_version: 2, ..row() };
        assert_ne!(row().hash_in(&same), second.hash_in(&same));
        let later = Log::of_this_release().add_texts("login", Statement::of_log_row_v1);
        assert_eq!(later.more().collect::<Vec<_>>(), ["login"]);
        let with = |row: LogRow, login: &str| LogRow {
            more: BTreeMap::from([("login".to_owned(), Some(login.to_owned()))]),
            ..row
        };
        assert_eq!(row().hash_in(&later), Some(row().expected_hash()));
        assert_ne!(second.hash_in(&later), with(second.clone(), "").hash_in(&later));
        let version = |number| later.version(number).expect("a known version");
        assert_eq!(version(1).beyond(&with(row(), "x")), ["login"]);
        assert!(version(2).beyond(&with(second.clone(), "x")).is_empty());
        assert!([0, 3, -1].iter().all(|unknown| later.version(*unknown).is_none()));
        assert_eq!(LogRow { hash_version: 3, ..row() }.hash_in(&later), None);
    }
}
