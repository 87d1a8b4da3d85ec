//! The machines that ship with the product, for tests over all of them.

use std::path::{Path, PathBuf};

use chancery_model::machine::{Definition, File, GuardKind, Scope};
use serde_json::{Map, Value, json};

/// A path of the repository.
pub fn repo_path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(relative)
}

/// The machines of the product.
const NAMES: [&str; 11] = [
    "step",
    "task",
    "workflow_run",
    "cut_request",
    "orchestrator_run",
    "birth_permit",
    "job",
    "dlq_replay",
    "finding",
    "governance_candidate",
    "proposal",
];

/// The machines of the product, by name.
///
/// # Panics
/// When a file is missing or is no machine file.
pub fn shipped() -> Vec<Definition> {
    NAMES
        .into_iter()
        .map(|name| {
            let text = std::fs::read_to_string(repo_path(&format!("machines/{name}.yaml")))
                .expect("a shipped machine");
            Definition::from(&File::parse(&text).expect("a machine file"))
        })
        .collect()
}

/// The same machine as a custom one, with each guard's truth taken from the evidence: `{"guards": {"NAME": true}}`. So a
/// machine can be driven through the real engine before the rooms that own its guards exist.
#[must_use]
pub fn as_custom(mut definition: Definition) -> Definition {
    definition.scope = Scope::Custom;
    for guard in &mut definition.guards {
        guard.kind = GuardKind::Config;
        guard.rule = Some(format!("$.evidence.guards.\"{}\" == true", guard.name));
        guard.reads = Vec::new();
    }
    for row in &mut definition.transitions {
        let guards: Map<String, Value> =
            row.guards.iter().map(|name| (name.clone(), json!({}))).collect();
        row.evidence = Some(json!({ "properties": { "guards": { "properties": guards } } }));
    }
    definition
}
