//! Entries of the cutter: which one is meant, and what its machine says about it.
//!
//! No state is known here. What is open, what leads on and what waits for whom is read from the rows of the machine.

use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::cutter::{EntryFilter, EntryRow};
use chancery_store::fsm::MachineRow;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::Failure;
use crate::session::refusal;

/// More entries for one document are not looked through.
const MANY: i64 = 1000;

/// The machines of entries, all versions.
#[derive(Debug)]
pub(crate) struct Rules(Vec<MachineRow>);

/// A row of a machine.
struct Way<'a> {
    from: Option<&'a str>,
    to: &'a str,
    by: &'a str,
    door: &'a str,
    guards: &'a Value,
}

impl Rules {
    pub(crate) async fn read(store: &Store) -> Result<Self, Failure> {
        let mut machines = store.machines().await?;
        machines.retain(|machine| machine.scope == "cut_request");
        Ok(Self(machines))
    }

    /// Whether something is still to be done about an entry.
    pub(crate) fn is_open(&self, entry: &EntryRow) -> bool {
        let is_end = |state: &Value| state["code"] == *entry.status && state["terminal"] == true;
        !self
            .definitions(&entry.state_machine_id)
            .filter_map(|definition| definition["states"].as_array())
            .flatten()
            .any(is_end)
    }

    /// The guards that a move had to pass.
    pub(crate) fn guards(&self, machine: &str, from: Option<&str>, to: &str, by: &str) -> String {
        let is_it = |way: &Way<'_>| way.from == from && way.to == to && way.by == by;
        let way = self.rows(machine).find(is_it);
        let guards = way.and_then(|way| way.guards.as_array()).into_iter().flatten();
        guards.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    }

    /// The states in which entries wait for somebody to call a door.
    pub(crate) fn waiting_for(&self, door: &str) -> Vec<String> {
        let mut states: Vec<String> = self
            .0
            .iter()
            .flat_map(|machine| self.rows(&machine.state_machine_id))
            .filter(|way| way.door == door)
            .filter_map(|way| way.from.map(str::to_owned))
            .collect();
        states.sort();
        states.dedup();
        states
    }

    fn definitions(&self, machine: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |row| row.state_machine_id == machine).map(|row| &row.definition)
    }

    fn rows(&self, machine: &str) -> impl Iterator<Item = Way<'_>> {
        fn text<'a>(row: &'a Value, key: &str) -> &'a str {
            row[key].as_str().unwrap_or_default()
        }
        let rows =
            self.definitions(machine).filter_map(|it| it["transitions"].as_array()).flatten();
        rows.map(|row| Way {
            from: row["from"].as_str(),
            to: text(row, "to"),
            by: text(row, "actor"),
            door: text(row, "trigger_ref"),
            guards: &row["guards"],
        })
    }
}

/// The entry that a name means: its id, or its document when that leaves no choice.
pub(crate) async fn find(store: &Store, name: &str) -> Result<EntryRow, Failure> {
    if let Ok(id) = name.parse::<Uuid>() {
        return match store.entry(id).await? {
            Some(entry) => Ok(entry),
            None => Err(unknown(store, name).await),
        };
    }
    let filter =
        EntryFilter { document_id: Some(name.to_owned()), limit: MANY, ..EntryFilter::default() };
    let entries = store.entries(&filter).await?;
    let rules = Rules::read(store).await?;
    let open: Vec<&EntryRow> = entries.iter().filter(|entry| rules.is_open(entry)).collect();
    match (open.as_slice(), entries.as_slice()) {
        ([only], _) => Ok((*only).clone()),
        ([], [only]) => Ok(only.clone()),
        ([], []) => Err(unknown(store, name).await),
        (open, all) => Err(ambiguous(name, open, all)),
    }
}

async fn unknown(store: &Store, name: &str) -> Failure {
    refusal(store, Code::RC001, json!({ "entry_id": name })).await
}

fn ambiguous(name: &str, open: &[&EntryRow], all: &[EntryRow]) -> Failure {
    let (what, fitting): (_, Vec<&EntryRow>) = if open.is_empty() {
        ("entries, none of them open", all.iter().collect())
    } else {
        ("open entries", open.to_vec())
    };
    let mut lines = vec![format!("{name} has {} {what}; say which one:", fitting.len())];
    lines.extend(fitting.iter().map(|entry| format!("  {}  {}", entry.entry_id, entry.status)));
    Failure::Usage(lines.join("\n"))
}
