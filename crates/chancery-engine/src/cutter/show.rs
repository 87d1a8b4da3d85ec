//! What stands in the backlog, for people.

use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::cutter::{EntryDetail, EntryFilter, EntryRow};
use chancery_store::fsm::WayOn;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::refused;
use crate::Error;

/// A request with everything that happened to it, and what can come next.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    pub detail: EntryDetail,
    /// The transition rows that lead on from where it is.
    pub ways_on: Vec<WayOn>,
}

/// Shows a request.
///
/// # Errors
/// RC001 when there is no such entry.
pub async fn show(store: &Store, entry_id: Uuid) -> Result<Shown, Error> {
    let Some(detail) = store.entry_detail(entry_id).await? else {
        return Err(refused(store, Code::RC001, json!({ "entry_id": entry_id })).await);
    };
    let machines = store.machines().await?;
    let rows = machines
        .iter()
        .find(|machine| machine.state_machine_id == detail.entry.state_machine_id)
        .and_then(|machine| machine.definition["transitions"].as_array())
        .map_or(&[][..], Vec::as_slice);
    let ways_on =
        rows.iter().filter(|row| row["from"] == detail.entry.status.as_str()).map(way_on).collect();
    Ok(Shown { detail, ways_on })
}

/// Lists requests.
///
/// # Errors
/// When there is no answer.
pub async fn list(store: &Store, filter: &EntryFilter) -> Result<Vec<EntryRow>, Error> {
    Ok(store.entries(filter).await?)
}

fn way_on(row: &Value) -> WayOn {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let guards: Vec<&str> = row["guards"]
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
        .collect();
    WayOn {
        to: text("to"),
        actor_class: text("actor"),
        label: text("label"),
        trigger: format!("{}:{}", text("trigger_kind"), text("trigger_ref")),
        guards: (!guards.is_empty()).then(|| guards.join("+")),
        audit: row["audit"].as_bool().unwrap_or_default(),
        transition_id: text("transition_id"),
        proposed: row["proposed"].as_bool().unwrap_or_default(),
    }
}
