//! A batch: many documents, each with a run of its own. The queue says which; a file beside the runs says which run is whose, written
//! before any of them begins, so that a batch that was killed goes on with the same runs.

use std::fs;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::lock::{self, Lock};
use super::run_id::RunId;
use super::stop::Stop;
use super::view::write_file;
use crate::Error;

/// A batch has at most so many documents.
pub const MAX_DOCUMENTS: usize = 100;

/// What is to be done.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    pub schema_version: u64,
    pub batch_id: Uuid,
    #[serde(default)]
    pub created_by: Option<String>,
    #[serde(default)]
    pub created_utc: Option<String>,
    #[serde(default)]
    pub default_scope: Option<String>,
    #[serde(default)]
    pub default_actor: Option<String>,
    pub items: Vec<Item>,
}

/// One document.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub document_id: String,
    /// Where it came from, for people. A run never adds a document.
    #[serde(default)]
    pub source_uri: Option<String>,
}

/// Which run is whose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roster {
    pub schema_version: u64,
    pub batch_id: Uuid,
    pub runs: IndexMap<String, RunId>,
}

impl Queue {
    /// Reads a queue.
    ///
    /// # Errors
    /// `STOP_REFUSED_INPUT` with what is wrong.
    pub fn read(path: &Path) -> Result<Self, Stop> {
        let refused = |why: String| {
            Stop::new(
                "STOP_REFUSED_INPUT",
                format!("{}: {why}", path.display()),
                "mend the queue, then repeat the command",
            )
        };
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let queue: Self =
            serde_yaml_ng::from_str(&text).map_err(|error| refused(error.to_string()))?;
        if queue.schema_version != 1 {
            return Err(refused(format!(
                "schema_version is {}, and 1 is known",
                queue.schema_version
            )));
        }
        if queue.items.is_empty() || queue.items.len() > MAX_DOCUMENTS {
            return Err(refused(format!(
                "{} documents; a batch has 1 to {MAX_DOCUMENTS}",
                queue.items.len()
            )));
        }
        for (n, item) in queue.items.iter().enumerate() {
            if queue.items[..n].iter().any(|other| other.document_id == item.document_id) {
                return Err(refused(format!("{} stands in it twice", item.document_id)));
            }
        }
        Ok(queue)
    }
}

/// The right to work on a batch, held until it is dropped.
#[derive(Debug)]
pub struct BatchLock(#[expect(dead_code, reason = "it is held, not read")] Lock);

impl BatchLock {
    /// Takes the batch, or says who has it: of two commands at once, each would write its own runs into the roster.
    ///
    /// # Errors
    /// `STOP_BATCH_BUSY`, or when the lock file cannot be written.
    pub fn acquire(root: &Path, queue: &Queue) -> Result<Self, Stop> {
        make_root(root)?;
        let path = root.join(format!("batch-{}.lock", queue.batch_id));
        Lock::acquire(&path).map(Self).map_err(|error| match error {
            lock::Error::Held(holder) => Stop::new(
                "STOP_BATCH_BUSY",
                format!(
                    "another command works on batch {}{}",
                    queue.batch_id,
                    holder.map_or_else(String::new, |holder| format!(" ({holder})"))
                ),
                "wait for it to end, or end it, then repeat the command",
            ),
            lock::Error::Io(source) => Error::File { path, source }.into(),
        })
    }
}

impl Roster {
    /// The runs of a batch: those that it has, and new ones for documents that have none. Stored before it is given. Who asks holds the
    /// batch.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn of(root: &Path, queue: &Queue, _: &BatchLock) -> Result<Self, Stop> {
        let path = root.join(format!("batch-{}.json", queue.batch_id));
        let mut roster = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| {
                Stop::new(
                    "STOP_SIDECAR_CORRUPT",
                    format!("{}: {error}", path.display()),
                    "put the file back from a backup, or begin another batch with another batch_id",
                )
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Self { schema_version: 1, batch_id: queue.batch_id, runs: IndexMap::new() }
            }
            Err(source) => return Err(Error::File { path, source }.into()),
        };
        let before = roster.clone();
        for item in &queue.items {
            roster
                .runs
                .entry(item.document_id.clone())
                .or_insert_with(|| RunId::new(Timestamp::now()));
        }
        if roster != before {
            make_root(root)?;
            let text = serde_json::to_string_pretty(&roster).expect("a roster is plain data");
            write_file(&path, text.as_bytes())?;
        }
        Ok(roster)
    }
}

fn make_root(root: &Path) -> Result<(), Stop> {
    fs::create_dir_all(root)
        .map_err(|source| Error::File { path: PathBuf::from(root), source }.into())
}
